package script

import (
	"testing"

	"modernc.org/quickjs"
)

func TestWrapperIsTheOneThatThisWasWrittenFor(t *testing.T) {
	vm, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	b, err := bareOf(vm)
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	b.watchMemory(&refused)
	defer refusals.Delete(b.memoryState())
	before := b.used()
	vm.SetMemoryLimit(4 << 20)
	if _, err := vm.Eval(`globalThis.kept = new Uint8Array(1 << 20); 1`, quickjs.EvalGlobal); err != nil || refused || b.used()-before < 1<<20 {
		t.Errorf("%d bytes more, refused %t, %v: want 1 MiB", b.used()-before, refused, err)
	}
	if _, err := vm.Eval(`new Uint8Array(8 << 20)`, quickjs.EvalGlobal); err == nil || !refused {
		t.Errorf("8 MiB of 4: %v, refused %t", err, refused)
	}
}

func TestPreludeHasNoText(t *testing.T) {
	e := start(t, "globalThis.own = function own() { return 1 }", nil)
	want(t, e, `return [fetch.toString().includes("callAs"), own.toString()]`, `[false,"function own() { return 1 }"]`)
}
