package ts

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"svc.dev/svc/internal/script"
)

// values are what is recorded, in words.
var values = map[string]string{"now": "the time", "chance": "a random number", "entropy": "random bytes"}

// recorded answers what a run must hear again when it is resumed: the time, and chance.
func recorded(c script.Call) (any, error) {
	if c.Act == nil {
		return nil, errNoRun
	}
	r, ok := c.Act.Data.(*run)
	if !ok {
		return nil, errNoRun
	}
	if err := r.watched.asked(values[c.Op]); err != nil {
		return nil, err
	}
	switch c.Op {
	case "now":
		return float64(r.w.Now().UnixMilli()), nil
	case "chance":
		return float64(r.w.Random()>>11) / (1 << 53), nil
	}
	n := int(c.Args.Int(0))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.w.Random())
	}
	return base64.StdEncoding.EncodeToString(b[:n]), nil
}

// line writes into the run's log: of a run by its act, whatever turn it is.
func (p *Project) line(c script.Call) error {
	act := c.Engine.Act(c.Args.Int(0))
	if act == nil {
		return nil // the run has left the engine
	}
	r, ok := act.Data.(*run)
	if !ok {
		return errNoRun
	}
	var pairs []any
	if c.Args.Has(3) {
		var attributes map[string]json.RawMessage
		if json.Unmarshal([]byte(c.Args.String(3)), &attributes) != nil {
			attributes = map[string]json.RawMessage{"value": json.RawMessage(c.Args.String(3))}
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			pairs = append(pairs, name, attributes[name])
		}
	}
	write := map[string]func(string, ...any){"info": r.w.Log, "warn": r.w.Warn, "error": r.w.Error}[c.Args.String(1)]
	if write == nil {
		return errNoRun
	}
	write(c.Args.String(2), pairs...)
	return nil
}
