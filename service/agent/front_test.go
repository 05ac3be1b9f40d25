package agent_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/agent"
)

// spent is the processor's time that this process has had: what else the machine does is not in it.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// costs fails where something takes more of the processor or more bytes than it may.
func costs(t *testing.T, what string, most time.Duration, mostBytes uint64, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	var took time.Duration
	var bytes uint64
	for range 3 { // what came before may be cleaned up meanwhile
		runtime.ReadMemStats(&before)
		began := spent(t)
		do()
		took = spent(t) - began
		runtime.ReadMemStats(&after)
		if bytes = after.TotalAlloc - before.TotalAlloc; took <= most && bytes <= mostBytes {
			return
		}
	}
	t.Errorf("%s took %s and %d MB", what, took, bytes>>20)
}

// many is a text for every number below one.
func many(n int, form string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, form, i)
	}
	return all.String()
}

// TestAHostileFileIsRefusedCheaply reads what the decoder of YAML would go through again and again, or tell out.
func TestAHostileFileIsRefusedCheaply(t *testing.T) {
	long := strings.Repeat("x", 190_000)
	for name, front := range map[string]string{
		"equal keys":               strings.Repeat("a: 1\n", 20_000),
		"distinct keys":            many(20_000, "k%d: 1\n"),
		"equal keys of a schema":   "outputSchema:\n" + strings.Repeat("  a: 1\n", 20_000),
		"distinct keys of a text":  "description:\n" + many(20_000, "  k%d: 1\n"),
		"distinct keys in a list":  "tools:\n- a: 1\n" + many(20_000, "  k%d: 1\n"),
		"equal keys of another":    "model: x\n...\n" + strings.Repeat("a: 1\n", 20_000),
		"a text told often":        "outputSchema: {enum: [&a \"" + long + "\"" + strings.Repeat(",*a", 60_000) + "]}\n",
		"a text told in a list":    "tools: [&a x" + strings.Repeat(",*a", 60_000) + "]\n",
		"an anchor alone":          "description: &a x\n",
		"a merge":                  "<<: {model: x/y}\n",
		"a merge in a schema":      "outputSchema: {<<: {type: object}}\n",
		"lists in lists":           "outputSchema: {enum: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}\n",
		"maps in maps":             "outputSchema: " + strings.Repeat("{a: ", 9000) + "1" + strings.Repeat("}", 9000) + "\n",
		"a map as a key":           "outputSchema: {? {a: b} : c}\n",
		"much of what is no text":  "tools: [" + strings.Repeat("!!binary x,", 30_000) + "]\n",
		"more than can be sent on": "description: " + strings.Repeat("x", 400<<10) + "\n",
	} {
		costs(t, name, time.Second, 50<<20, func() {
			_, err := agent.Parse("a", []byte("---\n"+front+"---\nText."))
			if f := fault.From(err); err == nil || f.Type != fault.InvalidRequest && f.Type != fault.BodyTooLarge || f.Details == "" && f.Type != fault.BodyTooLarge || len(f.Details) > 4<<10 {
				t.Errorf("%s: %.300v", name, err)
			}
		})
	}
}

func TestASchemaInAFileIsNested32Deep(t *testing.T) {
	nested := func(n int) []byte {
		return []byte("---\noutputSchema: " + strings.Repeat("{a: ", n) + "1" + strings.Repeat("}", n) + "\n---\n")
	}
	if _, err := agent.Parse("a", nested(32)); err != nil {
		t.Error(err)
	}
	if _, err := agent.Parse("a", nested(40)); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("40 deep: %v", err)
	}
}

// TestPatternsOfASchemaAreBounded saves what would be compiled to large programs, in every place where a pattern stands.
func TestPatternsOfASchemaAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		thousands := strings.Repeat("x{1000}", 500)
		for name, schema := range map[string]string{
			"one":              `{"type":"object","properties":{"a":{"pattern":"` + thousands + `"}}}`,
			"many":             `{"type":"object","properties":{` + strings.TrimSuffix(many(300, `"p%d":{"pattern":"x{1000}"},`), ",") + `}}`,
			"more than fit":    `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("x{1000}", 9000) + `"}}}`,
			"of names":         `{"type":"object","patternProperties":{"` + thousands + `":{}}}`,
			"in capitals":      `{"type":"object","properties":{"a":{"PATTERN":"` + thousands + `"}}}`,
			"in each other":    `{"type":"object","properties":{"a":{"pattern":"(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}(?:[a-z]{30}){30}"}}}`,
			"of whole scripts": `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat(`\\pL`, 1000) + `"}}}`,
		} {
			costs(t, name, time.Second, 30<<20, func() {
				_, err := s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer","outputSchema":`+schema+`}`))
				if f := wants(t, err, fault.InvalidRequest); f != nil && !strings.Contains(f.Details, "outputSchema") {
					t.Errorf("%s: %.300v", name, err)
				}
			})
		}
		uuid := `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
		must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer","outputSchema":{"type":"object","properties":{`+strings.TrimSuffix(many(40, `"p%d":{"pattern":"`+uuid+`"},`), ",")+`}}}`)))
	})
}

// TestADeepSchemaIsPrintedInOneLine prints one that is deeper than any that is saved now.
func TestADeepSchemaIsPrintedInOneLine(t *testing.T) {
	deep := agent.Definition{Name: "a", OutputSchema: []byte(`{"x-note":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`)}
	costs(t, "print", time.Second, 30<<20, func() {
		if text, err := agent.Print(deep); err != nil || len(text) > 64<<10 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}
