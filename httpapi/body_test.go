package httpapi

import (
	"testing"
)

// TestABodyThatIsKeptAsSentIsHeldOnce holds normalize to no copy where none is needed.
func TestABodyThatIsKeptAsSentIsHeldOnce(t *testing.T) {
	for text, shared := range map[string]bool{
		`{"a":[1,"x y\" z",null]}`: true, `"\\"`: true, `1`: true, `"é\n"`: true,
		`{"a": 1}`: false, "[1,\n2]": false, `["a" ]`: false, `"\ud800"`: false, "\"\xff\"": false,
	} {
		raw := []byte(text)
		kept, err := normalize(raw)
		if err != nil || (&kept[0] == &raw[0]) != shared {
			t.Errorf("%s: kept as %s, %v", text, kept, err)
		}
	}
}
