package memory_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.dev/svc/memory"
)

// heapOf is how many bytes are held by what a function makes.
func heapOf(make func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	made := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestDecodedIsNoLessThanWhatJSONTakes takes texts apart that are as small as their values are many.
func TestDecodedIsNoLessThanWhatJSONTakes(t *testing.T) {
	const n = 50_000
	list := func(item string) string { return "[" + strings.Repeat(item+",", n) + "0]" }
	var keys strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, `"k%d":1,`, i)
	}
	for name, text := range map[string]string{
		"empty objects": list("{}"), "one member": list(`{"a":1}`), "two members": list(`{"a":1,"b":2}`), "spaced": list(`{ "a" : 1 }`),
		"nine members": list(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`),
		"empty lists":  list("[]"), "one element": list("[1]"), "numbers": list("1"), "nulls": list("null"),
		"empty strings": list(`""`), "strings": list(`"ab"`), "escapes": list(`"\"{"`),
		"deep lists": strings.Repeat("[", 999) + strings.Repeat("]", 999), "deep objects": strings.Repeat(`{"a":`, 999) + "1" + strings.Repeat("}", 999),
		"many keys": "{" + keys.String() + `"z":1}`, "a long text": `"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		took := heapOf(func() any {
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(name, err)
			}
			return v
		})
		said := memory.Decoded([]byte(text))
		if said < took {
			t.Errorf("%s: %d bytes of text take %d, said to be %d", name, len(text), took, said)
		}
		if said > 4*took+64<<10 {
			t.Errorf("%s: %d bytes of text take %d, said to be as much as %d", name, len(text), took, said)
		}
	}
}

func TestShapeCountsValuesAndDepth(t *testing.T) {
	for text, want := range map[string][2]int{
		`1`: {1, 0}, `"[{,"`: {1, 0}, `[]`: {1, 1}, `{}`: {1, 1}, `[1]`: {2, 1}, `[1,2]`: {3, 1}, `{"a":1}`: {2, 1}, `{"a":[ ],"b":{"c":"\\\"]"}}`: {4, 2}, `[[[1]]]`: {4, 3},
	} {
		if values, depth := memory.Shape([]byte(text)); values != want[0] || depth != want[1] {
			t.Errorf("%s: %d values, %d deep, want %v", text, values, depth, want)
		}
	}
}
