package script

import "testing"

// TestMethodsAreFunctions: with every kind that the engine has, and with more, fewer and no arguments.
func TestMethodsAreFunctions(t *testing.T) {
	prelude, err := CompilePrelude(trial, `
		const bound = (method) => apply(bind, callMethod, [method]);
		const thrown = (fn) => { try { return fn(); } catch (e) { return e.constructor.name; } };
		const cases = { // made anew for each call, which may change what it is given
			generic: [Map.prototype.get, () => [[new Map([[1, 2]]), 1], [new Map(), 1], [new Map()], [{}, 1], [], [null]]],
			optional: [String.prototype.slice, () => [["abc", 1], ["abc", 1, 2], ["abc"], ["abc", 0, 1, 2], [], [undefined, 1]]],
			magic: [String.prototype.indexOf, () => [["abcb", "b"], ["abcb", "b", 2], ["abcb"], [null, "b"]]],
			many: [Array.prototype.push, () => [[[1], 2, 3, 4], [[1]], [undefined]]],
			getter: [getOwnPropertyDescriptor(Map.prototype, "size").get, () => [[new Map([[1, 2]])], [new Map(), 1], [{}], []]],
			typed: [getOwnPropertyDescriptor(typedProto, "length").get, () => [[new Uint8Array(3)], [[]], []]],
			iterator: [[][Symbol.iterator]().next, () => [[[1, 2][Symbol.iterator]()], [{}]]],
			own: [function (...more) { return [typeof this, ...more]; }, () => [["a", 1, 2], []]],
		};
		entrances.methods = (act) => { enter(act); finish(act, () => {
			const wrong = [];
			for (const name of keys(cases)) {
				const [method, given] = cases[name];
				for (const i of given().keys()) {
					const now = jsonStringify(thrown(() => uncurry(method)(...given()[i]))), wanted = jsonStringify(thrown(() => bound(method)(...given()[i])));
					if (now !== wanted) wrong.push([name, i, now, wanted]);
				}
			}
			const list = [1], told = uncurry(Array.prototype.map);
			wrong.push(push(list, 2, 3), jsonStringify(list), told.name, told.length, "prototype" in told);
			return jsonStringify(wrong);
		}); };`)
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, "", func(c *Config) { c.Prelude, c.Entrances = prelude, append(c.Entrances, "methods") })
	a, err := e.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	a.Call("methods")
	got, err := wait(t, a)
	if want := `[3,"[1,2,3]","map",2,false]`; got != want || err != nil {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	want(t, e, `return "hostMethod" in globalThis`, `false`)
}

// TestMethodsAreKnownOnce: however many engines ask for them.
func TestMethodsAreKnownOnce(t *testing.T) {
	count := func() int32 {
		start(t, "", nil)
		methods.mu.Lock()
		defer methods.mu.Unlock()
		return methods.count
	}
	if first, again := count(), count(); first != again || first == 0 || int(first) > len(methods.known)/2 {
		t.Errorf("%d methods after an engine, and %d after another; there is place for %d", first, again, len(methods.known))
	}
}
