package proxyapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// samples are the lines of /metrics that are not of durations.
func samples(a *api) []string {
	a.t.Helper()
	var lines []string
	for line := range strings.Lines(a.call("GET", "/metrics", "", "").body) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_duration_seconds") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestMetrics(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{Cap: 1}))
	list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"count": 3}`), 201)
	a.call("POST", "/v1/leases", crawlerToken, "")
	a.call("POST", "/v1/leases", crawlerToken, `{"selector": {"fleet": "nothing"}}`)
	a.call("DELETE", "/v1/leases/"+list.Leases[0].ID, crawlerToken, "")
	for _, path := range []string{"/v1/nothing", "/a", "/b?c=d", "/v1/leases/a", "/v1/leases/b"} {
		a.call("GET", path, crawlerToken, "")
	}
	a.call("BREW", "/v1/proxies", crawlerToken, "")
	a.call("GET", "//v1/proxies", crawlerToken, "")
	view := testProxies()
	view[3].Draining = true
	a.pool.Replace(slices.DeleteFunc(view, func(p lease.Proxy) bool { return p.ID == list.Leases[1].ProxyID }))

	want := []string{
		`crawlfleet_http_requests_total{code="201",route="POST /v1/leases"} 1`,
		`crawlfleet_http_requests_total{code="204",route="DELETE /v1/leases/{id}"} 1`,
		`crawlfleet_http_requests_total{code="307",route="GET /v1/proxies"} 1`,
		`crawlfleet_http_requests_total{code="404",route="GET /v1/leases/{id}"} 2`,
		`crawlfleet_http_requests_total{code="404",route="other"} 3`,
		`crawlfleet_http_requests_total{code="405",route="other"} 1`,
		`crawlfleet_http_requests_total{code="429",route="POST /v1/leases"} 1`,
		`crawlfleet_http_requests_total{code="503",route="POST /v1/leases"} 1`,
		`crawlfleet_leases_denied_total{reason="at_cap"} 1`,
		`crawlfleet_leases_denied_total{reason="no_proxies"} 0`,
		`crawlfleet_leases_denied_total{reason="none_match"} 1`,
		`crawlfleet_leases_denied_total{reason="none_working"} 0`,
		`crawlfleet_leases_ended_total{end="expired"} 0`,
		`crawlfleet_leases_ended_total{end="proxy_gone"} 1`,
		`crawlfleet_leases_ended_total{end="released"} 1`,
		`crawlfleet_leases_granted_total 3`,
		`crawlfleet_leases_in_flight 1`,
		`crawlfleet_proxies_draining{fleet="api"} 0`,
		`crawlfleet_proxies_draining{fleet="web"} 1`,
		`crawlfleet_proxies{fleet="api",working="false"} 0`,
		`crawlfleet_proxies{fleet="api",working="true"} 1`,
		`crawlfleet_proxies{fleet="web",working="false"} 1`,
		`crawlfleet_proxies{fleet="web",working="true"} 1`,
	}
	if diff := cmp.Diff(want, samples(a)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	durations := a.call("GET", "/metrics", "", "").body
	if !strings.Contains(durations, `crawlfleet_http_request_duration_seconds_count{route="POST /v1/leases"} 3`) {
		t.Error("the durations of POST /v1/leases do not count three requests")
	}
}

// /metrics serves what the program registers beside the Server's own.
func TestMetricsOfTheProgram(t *testing.T) {
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: MetricPrefix + "rounds", Help: "Rounds."})
	registry.MustRegister(gauge)
	gauge.Set(7)
	a := newAPI(t, lease.NewPool(lease.Options{}), func(o *Options) { o.Registry = registry })
	if got := a.call("GET", "/metrics", "", ""); !strings.Contains(got.body, "crawlfleet_rounds 7\n") {
		t.Errorf("the program's metric is not there: %s", got.body)
	}
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), MetricPrefix) {
			t.Errorf("%s is in the global registry", f.GetName())
		}
	}
}
