package proxyapi

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/prometheus/client_golang/prometheus"
)

// MetricPrefix begins the name of every metric of this package. A program that
// registers its own beside them begins them the same way.
const MetricPrefix = "crawlfleet_"

// otherRoute is the route of requests that no route takes: their paths are the
// client's and without bound.
const otherRoute = "other"

// metrics are those of the requests; the pool's are read when they are asked
// for.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// newMetrics registers the metrics of the requests and of the pool.
func newMetrics(registry *prometheus.Registry, pool *lease.Pool) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: MetricPrefix + "http_requests_total",
			Help: "Requests answered, by the route's pattern and the status.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    MetricPrefix + "http_request_duration_seconds",
			Help:    "Time from a request's header to the end of its answer, by the route's pattern.",
			Buckets: []float64{.0005, .001, .005, .025, .1, .5, 2.5},
		}, []string{"route"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, newPoolCollector(pool)} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("proxyapi: Options.Registry has such a metric already; give each Server its own: %w", err)
		}
	}
	return m, nil
}

// observe counts an answer. The pattern is empty when no route took it.
func (m *metrics) observe(pattern string, code int, took time.Duration) {
	m.requests.WithLabelValues(routeLabel(pattern), strconv.Itoa(code)).Inc()
	m.seconds.WithLabelValues(routeLabel(pattern)).Observe(took.Seconds())
}

// routeLabel is never the path of a request.
func routeLabel(pattern string) string { return cmp.Or(pattern, otherRoute) }

// poolCollector reads the counts of a pool.
type poolCollector struct {
	pool *lease.Pool

	granted, denied, ended, inFlight, proxies, draining *prometheus.Desc
}

// newPoolCollector makes the descriptions once; a collector is asked at every
// scrape.
func newPoolCollector(pool *lease.Pool) *poolCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(MetricPrefix+name, help, labels, nil)
	}
	return &poolCollector{
		pool:     pool,
		granted:  desc("leases_granted_total", "Leases handed out."),
		denied:   desc("leases_denied_total", "Requests for leases that got none, by reason.", "reason"),
		ended:    desc("leases_ended_total", "Leases that ended, by how.", "end"),
		inFlight: desc("leases_in_flight", "Leases that are handed out now."),
		proxies:  desc("proxies", "Proxies, by fleet and by whether the last check passed.", "fleet", "working"),
		draining: desc("proxies_draining", "Proxies that are to go and get no new leases, by fleet.", "fleet"),
	}
}

// Describe sends what Collect may send.
func (c *poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.granted, c.denied, c.ended, c.inFlight, c.proxies, c.draining} {
		ch <- d
	}
}

// Collect reads the pool once, so that the figures agree with each other.
func (c *poolCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.pool.Stats()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	// The reasons and ends are constants, and the fleets are of the program's
	// configuration: no client can make a new label.
	counter(c.granted, s.Granted)
	for reason, n := range s.Denied {
		counter(c.denied, n, string(reason))
	}
	for end, n := range s.Ended {
		counter(c.ended, n, string(end))
	}
	gauge(c.inFlight, s.InFlight)
	for fleet, f := range s.Fleets {
		gauge(c.proxies, f.Working, fleet, "true")
		gauge(c.proxies, f.NotWorking, fleet, "false")
		gauge(c.draining, f.Draining, fleet)
	}
}
