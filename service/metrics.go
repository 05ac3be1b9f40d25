package service

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"svc.dev/svc/internal/build"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/models"
	"svc.dev/svc/ts"
)

// Metric describes one metric of ours on /metrics. Labels come from small fixed sets, never from a scope, an account or
// an id.
type Metric struct {
	Name   string
	Type   string // counter, gauge or histogram
	Labels []string
	About  string
}

var (
	buildInfo      = Metric{"svc_build_info", "gauge", []string{"version", "revision", "go"}, "Always 1; the labels say which build runs."}
	httpRequests   = Metric{"svc_http_requests_total", "counter", []string{"surface", "route", "status"}, "Answers on the public address, by surface, route pattern and status class."}
	httpSeconds    = Metric{"svc_http_request_seconds", "histogram", []string{"surface", "route"}, "Time from a request on the public address to the end of its answer."}
	spoofedHeaders = Metric{"svc_spoofed_headers_total", "counter", nil, "Headers from outside that only the gateway may set; they were dropped."}
	streamsWorking = Metric{"svc_streams_working", "gauge", nil, "Streams that this node works on now."}
	memoryLimit    = Metric{"svc_memory_limit_bytes", "gauge", nil, "Memory that this process may hold for those it serves."}
	memoryHeld     = Metric{"svc_memory_held_bytes", "gauge", []string{"use"}, "What of it is held, by what for."}
	memoryWaiting  = Metric{"svc_memory_waiting", "gauge", nil, "Answers and work that wait for memory now."}
	memoryRefused  = Metric{"svc_memory_refused_total", "counter", []string{"use"}, "How often there was no memory, by what for."}
	modelTurns     = Metric{"svc_model_turns_total", "counter", []string{"provider", "key"}, "Turns that a model provider was asked for, by whose key: the workspace's, the service's, or none."}
	engines        = Metric{"svc_engines", "gauge", []string{"pool"}, "Engines of the project that live, by what they do."}
	engineActs     = Metric{"svc_engine_acts", "gauge", []string{"pool"}, "Requests, runs and calls that they have now."}
	engineTurns    = Metric{"svc_engine_turns_total", "counter", []string{"pool"}, "Turns that engines have done."}
	enginesLost    = Metric{"svc_engines_lost_total", "counter", []string{"pool"}, "Engines that met a limit and were replaced."}
	sweptTotal     = Metric{"svc_swept_total", "counter", []string{"kind"}, "What was past its time and is gone, by kind; for how long things are kept, retention.* says."}
	connections    = Metric{"svc_connections", "gauge", nil, "Connections to the public address."}
	refusedConns   = Metric{"svc_connections_refused_total", "counter", nil, "Connections to the public address that were beyond its limits."}
)

// Metrics is every metric of ours. Those of the Go runtime and of the process stand beside them.
var Metrics = []Metric{
	buildInfo, httpRequests, httpSeconds, spoofedHeaders, streamsWorking, memoryLimit, memoryHeld, memoryWaiting, memoryRefused,
	modelTurns, engines, engineActs, engineTurns, enginesLost, sweptTotal, connections, refusedConns,
}

// metrics counts what one server does.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	spoofed  prometheus.Counter // headers that only we may set
	refused  prometheus.Counter // connections
	turns    *prometheus.CounterVec
	gone     *prometheus.CounterVec // what sweeps took away
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: httpRequests.Name, Help: httpRequests.About}, httpRequests.Labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: httpSeconds.Name, Help: httpSeconds.About,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, httpSeconds.Labels),
		spoofed: prometheus.NewCounter(prometheus.CounterOpts{Name: spoofedHeaders.Name, Help: spoofedHeaders.About}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: refusedConns.Name, Help: refusedConns.About}),
		turns:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: modelTurns.Name, Help: modelTurns.About}, modelTurns.Labels),
		gone:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: sweptTotal.Name, Help: sweptTotal.About}, sweptTotal.Labels),
	}
	for _, provider := range models.Outside() {
		m.turns.WithLabelValues(provider, models.OfWorkspace) // told as 0 before the first
	}
	for _, kind := range sweptKinds {
		m.gone.WithLabelValues(kind)
	}
	running := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.Name, Help: buildInfo.About}, buildInfo.Labels)
	b := build.This()
	running.WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		running, m.requests, m.seconds, m.spoofed, m.refused, m.turns, m.gone,
	)
	return m
}

// watch reports a number that others count, from now on.
func (m *metrics) watch(of Metric, count func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: of.Name, Help: of.About}, func() float64 { return float64(count()) },
	))
}

// memoryGauges tell what a budget holds when they are asked.
type memoryGauges struct{ budget *memory.Budget }

func (m memoryGauges) Describe(into chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, into) }

func (m memoryGauges) Collect(into chan<- prometheus.Metric) {
	s := m.budget.Stats()
	tell := func(of Metric, kind prometheus.ValueType, n int64, labels ...string) {
		into <- prometheus.MustNewConstMetric(prometheus.NewDesc(of.Name, of.About, of.Labels, nil), kind, float64(n), labels...)
	}
	tell(memoryLimit, prometheus.GaugeValue, s.Limit)
	tell(memoryWaiting, prometheus.GaugeValue, s.Waiting)
	for _, use := range memory.Uses {
		tell(memoryHeld, prometheus.GaugeValue, s.Uses[use], string(use))
		tell(memoryRefused, prometheus.CounterValue, s.Refused[use], string(use))
	}
}

// engineGauges tell what the engines of the project do, nothing where there is none.
type engineGauges struct {
	stats func() (serving, working ts.Stats)
}

func (e engineGauges) Describe(into chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, into) }

func (e engineGauges) Collect(into chan<- prometheus.Metric) {
	tell := func(of Metric, kind prometheus.ValueType, n int64, pool string) {
		into <- prometheus.MustNewConstMetric(prometheus.NewDesc(of.Name, of.About, of.Labels, nil), kind, float64(n), pool)
	}
	serving, working := e.stats()
	for pool, s := range map[string]ts.Stats{"serving": serving, "working": working} {
		tell(engines, prometheus.GaugeValue, int64(s.Engines), pool)
		tell(engineActs, prometheus.GaugeValue, int64(s.Acts), pool)
		tell(engineTurns, prometheus.CounterValue, s.Turns, pool)
		tell(enginesLost, prometheus.CounterValue, s.Lost, pool)
	}
}

// asked counts one turn of a model.
func (m *metrics) asked(provider, key string) { m.turns.WithLabelValues(provider, key).Inc() }

// swept counts what a sweep took away.
func (m *metrics) swept(kind string, n int64) { m.gone.WithLabelValues(kind).Add(float64(n)) }

// answered counts one answer on the public address. A host that is none of ours has no surface.
func (m *metrics) answered(surface, route string, status int, took time.Duration) {
	surface = cmp.Or(surface, "none")
	class := fmt.Sprintf("%dxx", cmp.Or(status, http.StatusOK)/100) // what nobody wrote the server sends as 200
	m.requests.WithLabelValues(surface, route, class).Inc()
	m.seconds.WithLabelValues(surface, route).Observe(took.Seconds())
}
