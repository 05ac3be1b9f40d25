package script

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

var soak = os.Getenv("SVC_SOAK") != ""

// resident is the memory of this process, in KiB; 0 where the system does not tell.
func resident() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n := 0
			_, _ = fmt.Sscan(rest, &n)
			return n
		}
	}
	return 0
}

// settled is resident after the collector.
func settled() int {
	runtime.GC()
	debug.FreeOSMemory()
	return resident()
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestStartOfAnEngineIsCheap: 10 ms of a processor and 1.5 MiB at most, with Intl.
func TestStartOfAnEngineIsCheap(t *testing.T) {
	start(t, "", nil)
	const rounds, n = 6, 10
	var engines []*Engine
	each, before := time.Hour, settled()
	for range rounds { // processors that others share count time that is not ours: the least is
		began := processorTime()
		for range n {
			engines = append(engines, start(t, "", nil))
		}
		each = min(each, (processorTime()-began)/n)
	}
	memory := (settled() - before) / (rounds * n)
	t.Attr("engine-start-cpu", each.Round(10*time.Microsecond).String())
	t.Attr("engine-start-kib", fmt.Sprint(memory))
	t.Attr("engine-script-kib", fmt.Sprint(engines[0].Memory()/1024))
	most := 10 * time.Millisecond
	if !soak {
		most *= 2 // beside other tests a processor that is shared does half as much in its time
	}
	if !racing && (each > most || memory > 1536) {
		t.Errorf("an engine takes %s and %d KiB to start, want %s and 1,536 KiB at most", each, memory, most)
	}
}

// TestCallsAndEndsDoNotGrow: what acts and engines took is given back.
func TestCallsAndEndsDoNotGrow(t *testing.T) {
	calls, ends := 2_000, 50
	if racing {
		calls, ends = 100, 10
	} else if soak {
		calls, ends = 100_000, 10_000
	}
	e := start(t, "globalThis.n = 0", nil)
	const act = `const r = new Response(JSON.stringify({ n: n++ }), { headers: { a: "b" } }); setTimeout(() => {}, 1e6); new URL("http://h/?" + n).searchParams.get("x"); const s = r.body.tee(); s[0].cancel(); console.log(n); for await (const x of s[1]); return 1`
	for range calls / 4 {
		want(t, e, act, `1`)
	}
	const left = `return __svc.sync("left")`
	want(t, e, left, `0`)
	before, used := settled(), heldBytes(t, e)
	for range calls {
		want(t, e, act, `1`)
	}
	want(t, e, left, `0`)
	// The allocator's arenas make a difference of 64 KiB by themselves.
	if grown := heldBytes(t, e) - used; grown > 256<<10 {
		t.Errorf("scripts hold %d bytes more after %d calls", grown, calls)
	}
	ended := func(times int) {
		// What a test cleans up it holds until its end, so these are many tests.
		for ; times > 0; times -= 100 {
			t.Run("ends", func(t *testing.T) {
				for range min(times, 100) {
					one := start(t, "setTimeout(() => {}, 1e6)", nil)
					want(t, one, `fetch("http://[::1]:1/"); return 1`, `1`)
					one.Close()
					over(t, one)
				}
			})
		}
	}
	ended(20)
	middle := settled()
	ended(ends)
	after := settled()
	t.Attr("calls-grow-kib", fmt.Sprint(middle-before))
	t.Attr("ends-grow-kib", fmt.Sprint(after-middle))
	if !racing && (middle-before > 5<<10 || after-middle > 5<<10) {
		t.Errorf("%d calls took %d KiB, %d ends %d KiB, want 5 MiB at most each", calls, middle-before, ends, after-middle)
	}
}

// BenchmarkAct is one act that does nothing: a turn in and out.
func BenchmarkAct(b *testing.B) {
	e := start(b, "", nil)
	for b.Loop() {
		if got, err := run(b, e, `return 1`); got != "1" || err != nil {
			b.Fatal(got, err)
		}
	}
}
