package script

import (
	"fmt"
	"testing"
)

// TestWhatCrossesIsWhatItWas: from scripts to Go, and back, at once and later.
func TestWhatCrossesIsWhatItWas(t *testing.T) {
	var heard string
	given := map[string]any{
		"bytes": "a\xff\xfeb", "whole": int64(1) << 40, "odd": struct{}{},
	}
	host := scene{
		sync: func(c Call) (any, bool, error) {
			switch c.Op {
			case "echo":
				heard = fmt.Sprintf("%T %v", c.Args[0], c.Args[0])
				return c.Args[0], true, nil
			case "give":
				return given[c.Args.String(0)], true, nil
			case "panics":
				panic("on purpose")
			}
			return nil, false, nil
		},
		async: func(c Call) bool {
			switch c.Op {
			case "later":
				c.Settle(c.Args[0], nil)
			case "panics":
				panic("on purpose")
			default:
				return false
			}
			return true
		},
	}
	e := start(t, "", func(c *Config) { c.Host = host })
	for code, wanted := range map[string]string{
		`""`: "string ", `"é\u{1F600}\0z"`: "string é\U0001F600\x00z",
		`null`: "<nil> <nil>", `true`: "bool true", `false`: "bool false",
		`0`: "int 0", `-1`: "int -1", `2147483647`: "int 2147483647", `2147483648`: "float64 2.147483648e+09", `0.5`: "float64 0.5", `NaN`: "float64 NaN", `-Infinity`: "float64 -Inf",
	} {
		want(t, e, `return Object.is(__svc.sync("echo", `+code+`), `+code+`) && Object.is(await __svc.call("later", `+code+`), `+code+`)`, `true`)
		if heard != wanted {
			t.Errorf("Go gets %q of %s, want %q", heard, code, wanted)
		}
	}
	for code, wanted := range map[string]string{
		`__svc.sync("echo", undefined)`:                                                        `null`,
		`__svc.sync("echo", "a\ud800\udc00\ud800\udc00b\udc00\ud800\ud800")`:                   "\"a\U00010000\U00010000b\uFFFD\uFFFD\uFFFD\"",
		`__svc.sync("give", "bytes")`:                                                          "\"a\uFFFD\uFFFDb\"",
		`__svc.sync("give", "whole") === 2 ** 40`:                                              `true`,
		`await Promise.try(__svc.sync, "give", "odd").catch(String)`:                           `"Error: a struct {} does not cross"`,
		`await Promise.try(__svc.sync, "panics").catch(String)`:                                `"Error: panics failed"`,
		`await Promise.try(__svc.sync, "nothing").catch(String)`:                               `"Error: there is no operation \"nothing\""`,
		`await __svc.call("panics").catch(String)`:                                             `"Error: panics failed"`,
		`await __svc.call("nothing").catch(String)`:                                            `"Error: there is no operation \"nothing\""`,
		`await Promise.try(__svc.sync, "url", "http://[").catch(String)`:                       `null`,
		`await Promise.try(__svc.sync, "digest", "none", "").catch((e) => e instanceof Error)`: `true`,
	} {
		want(t, e, `return `+code, wanted)
	}
}
