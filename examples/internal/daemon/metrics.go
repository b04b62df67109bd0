package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
)

// metrics are those of the loops. Labels are names of the configuration and
// stable words, never names of members or texts of errors, whose number has no
// bound.
type metrics struct {
	rounds, actions, replaced, checks, calls, abandoned, collected, reloads *prometheus.CounterVec
	callSeconds                                                             *prometheus.HistogramVec
	replicas, working, frozen, orphans                                      *prometheus.GaugeVec
	reloaded                                                                prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	var errs []error
	register := func(c prometheus.Collector) { errs = append(errs, registry.Register(c)) }
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: proxyapi.MetricPrefix + name, Help: help}, labels)
		register(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: proxyapi.MetricPrefix + name, Help: help}, labels)
		register(g)
		return g
	}
	m := &metrics{
		rounds:    counter("rounds_total", "Decisions of the loop of a provider.", "provider"),
		actions:   counter("actions_total", "Actions that ended, by why they were taken and by the kind of error, which is OK without one.", "provider", "fleet", "op", "why", "kind"),
		replaced:  counter("members_replaced_total", "Members deleted so that a successor takes their place, by why.", "provider", "fleet", "why"),
		checks:    counter("checks_total", "Checks through the proxies of members, by result.", "provider", "fleet", "result"),
		calls:     counter("provider_calls_total", "Calls to a provider, by the kind of error, which is OK without one.", "provider", "op", "kind"),
		abandoned: counter("instances_abandoned_total", "Instances given up because their place is no longer configured.", "provider"),
		collected: counter("orphans_deleted_total", "Orphans that the collector called Delete for.", "provider"),
		reloads:   counter("config_reloads_total", "Reloads of the configuration, by result.", "result"),
		replicas:  gauge("fleet_replicas", "Members that a fleet shall have.", "provider", "fleet"),
		working:   gauge("fleet_working", "Members of a fleet that work and are not to go.", "provider", "fleet"),
		frozen:    gauge("fleet_frozen", "1 while replacing is stopped because too many members fail together.", "provider", "fleet"),
		orphans:   gauge("orphans", "Instances that no fleet accounts for, at the last sweep.", "provider"),
		callSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: proxyapi.MetricPrefix + "provider_call_duration_seconds", Help: "Time of calls to a provider.",
			Buckets: []float64{.01, .05, .25, 1, 5, 20, 60, 300},
		}, []string{"provider", "op"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: proxyapi.MetricPrefix + "config_last_reload_successful", Help: "1 when the last configuration read is in force, 0 when it was refused.",
		}),
	}
	register(m.callSeconds)
	register(m.reloaded)
	m.reloaded.Set(1)
	for _, result := range []string{"ok", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	return m, errors.Join(errs...)
}

func kindLabel(err error) string {
	if err == nil {
		return "OK"
	}
	return string(provider.KindOf(err))
}

// action counts an action that ended.
func (m *metrics) action(providerName string, a fleet.Action, err error) {
	m.actions.WithLabelValues(providerName, a.Fleet, string(a.Op), string(a.Why), kindLabel(err)).Inc()
	if a.Op != fleet.Delete || err != nil {
		return
	}
	switch a.Why {
	case fleet.Failed, fleet.Stopped, fleet.NotWorking, fleet.Drifted, fleet.TooOld:
		m.replaced.WithLabelValues(providerName, a.Fleet, string(a.Why)).Inc()
	}
}

// fleet shows how a fleet does. One that is gone is not shown.
func (m *metrics) fleet(providerName string, s fleet.Status) {
	if s.Replicas == 0 && s.Present == 0 {
		m.replicas.DeleteLabelValues(providerName, s.Fleet)
		m.working.DeleteLabelValues(providerName, s.Fleet)
		m.frozen.DeleteLabelValues(providerName, s.Fleet)
		return
	}
	frozen := 0.0
	if s.Frozen {
		frozen = 1
	}
	m.replicas.WithLabelValues(providerName, s.Fleet).Set(float64(s.Replicas))
	m.working.WithLabelValues(providerName, s.Fleet).Set(float64(s.Working))
	m.frozen.WithLabelValues(providerName, s.Fleet).Set(frozen)
}

// forget drops the gauges of a provider that is gone.
func (m *metrics) forget(providerName string) {
	labels := prometheus.Labels{"provider": providerName}
	for _, g := range []*prometheus.GaugeVec{m.replicas, m.working, m.frozen, m.orphans} {
		g.DeletePartialMatch(labels)
	}
}

// observer counts and times the calls of a provider.
func (m *metrics) observer(providerName string) provider.Observer {
	return func(ctx context.Context, op string, _ provider.Ref) (context.Context, func(error)) {
		if op == provider.OpAbandoned {
			m.abandoned.WithLabelValues(providerName).Inc()
			return ctx, nil
		}
		began := time.Now()
		return ctx, func(err error) {
			m.calls.WithLabelValues(providerName, op, kindLabel(err)).Inc()
			m.callSeconds.WithLabelValues(providerName, op).Observe(time.Since(began).Seconds())
		}
	}
}
