package agent

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

const (
	// fresh is how old the answer of a node may be: what another node disabled or deleted is so here within a second.
	fresh = 400 * time.Millisecond
	// spell is how long others go on with what there is while one looks again, and overdue how old it gets by that at most.
	spell   = 100 * time.Millisecond
	overdue = 800 * time.Millisecond
	// few and many are how many answers a node keeps, long ones and others.
	few, many = 64, 2048
	long      = 16 << 10
	// ofFile begins the version of a file: the database may have the same name with versions of its own.
	ofFile = "file-"
)

// Resolve finds an agent for the runtime, as svc.Config.Resolve wants it. One that was disabled or deleted takes no prompts and is
// otherwise as it was last.
func (a *Agents) Resolve(ctx context.Context, scope, name, version string) (*svc.Agent, error) {
	if !isName(name) {
		return nil, nil
	}
	which := asked{scope, name, version}
	one, known := a.recent.find(which)
	if !known {
		began := time.Now()
		found, err := a.lookUp(ctx, which)
		if err != nil || found == nil {
			return nil, err
		}
		if one, err = a.build(ctx, scope, found); err != nil {
			return nil, err
		}
		one.since = began
		a.recent.put(which, one)
	}
	if one.hidden && a.ByKey != nil && a.ByKey(ctx) {
		unserved := *one.agent
		unserved.Route, unserved.Attachments = nil, nil
		return &unserved, nil
	}
	return one.agent, nil
}

// resolved is a definition as it is found, and by which version.
type resolved struct {
	Definition
	version string
	retired bool
}

// lookUp is nil for an agent that there never was.
func (a *Agents) lookUp(ctx context.Context, which asked) (*resolved, error) {
	if which.version == "" {
		return a.newest(ctx, which.scope, which.name)
	}
	d, builtIn := a.builtIn(which.name)
	number, file := strings.CutPrefix(which.version, ofFile)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return nil, nil // another program wrote it
	}
	if builtIn && !file && n == asBuilt {
		return &resolved{Definition: d, version: which.version}, nil
	}
	scope := which.scope
	if file {
		scope = ""
	}
	past, err := a.past(ctx, scope, which.name, n)
	if err != nil || past == nil {
		return nil, err
	}
	if builtIn && !file {
		*past = overlaid(d, *past)
	}
	return &resolved{Definition: *past, version: which.version}, nil
}

// past is nil where there is no such version.
func (a *Agents) past(ctx context.Context, scope, name string, number int64) (*Definition, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (*Definition, error) {
		past, found, err := findVersion(tx, scope, name, number)
		if err != nil || !found {
			return nil, err
		}
		return &past.Definition, nil
	})
}

// newest is what a name stands for now.
func (a *Agents) newest(ctx context.Context, scope, name string) (*resolved, error) {
	d, builtIn := a.builtIn(name)
	if f := a.shelf.find(name); f != nil && !builtIn {
		return &resolved{Definition: f.Definition, version: ofFile + strconv.FormatInt(f.number, 10)}, nil
	}
	var last resolved
	s, err := sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (stored, error) {
		s, err := find(tx, scope, name)
		if err != nil || s.version > 0 || builtIn {
			return s, err
		}
		// A file that is gone was an agent too.
		past, found, err := lastFile(tx, name)
		if found {
			last = resolved{Definition: past.Definition, version: ofFile + strconv.FormatInt(past.Version, 10), retired: true}
		}
		return s, err
	})
	switch {
	case err != nil:
		return nil, err
	case builtIn && s.there():
		return &resolved{Definition: overlaid(d, s.Definition), version: strconv.FormatInt(s.version, 10)}, nil
	case builtIn:
		return &resolved{Definition: d, version: strconv.Itoa(asBuilt)}, nil
	case s.version > 0:
		return &resolved{Definition: s.Definition, version: strconv.FormatInt(s.version, 10), retired: !s.there() || !s.enabled}, nil
	case last.version != "":
		return &last, nil
	}
	return nil, nil
}

// build makes the agent of a definition.
func (a *Agents) build(ctx context.Context, scope string, r *resolved) (one answered, err error) {
	made := &svc.Agent{
		Name: r.Name, Description: r.Description, Instructions: r.Instructions, Model: r.Model, Reasoning: string(r.Reasoning),
		Version: r.version, Retired: r.retired, Route: svc.Open, Attachments: svc.Open,
	}
	if number, file := strings.CutPrefix(r.version, ofFile); file {
		made.Label = number
	}
	if made.Output, err = r.output(); err != nil {
		return one, err
	}
	if made.Model == "" && a.DefaultModel != nil {
		if made.Model, err = a.DefaultModel(ctx, scope); err != nil {
			return one, err
		}
	}
	if a.Build != nil {
		made.Tools, err = a.Build(ctx, scope, r.Definition)
	}
	return answered{agent: made, hidden: !r.Exposed}, err
}

// output is the form of the answers, nil where they are text. A schema that was saved when more were let in is refused by name.
func (d Definition) output() (*svc.Output, error) {
	if d.OutputSchema == nil {
		return nil, nil
	}
	form, err := svc.ParseOutput(d.OutputSchema)
	if err != nil {
		var p problems
		p.schema(d.OutputSchema)
		return nil, p.refusal()
	}
	return form, nil
}

// asked is what a runtime asks for.
type asked struct{ scope, name, version string }

// answered is what it is told.
type answered struct {
	agent   *svc.Agent
	hidden  bool      // from API keys
	since   time.Time // it was looked up
	checked time.Time // somebody was sent to look again
}

// bytes is how long its texts are.
func (a answered) bytes() int {
	n := len(a.agent.Instructions)
	for _, t := range a.agent.Tools {
		n += len(t.Description) + len(t.InputSchema())
	}
	return n
}

// recent are answers that a node gave a moment ago, so that an agent which is prompted often costs one question now and then.
type recent struct {
	mu    sync.Mutex
	short *lru.Cache[asked, answered]
	long  *lru.Cache[asked, answered]
}

func newRecent() *recent {
	short, _ := lru.New[asked, answered](many) // it refuses no number above zero
	long, _ := lru.New[asked, answered](few)
	return &recent{short: short, long: long}
}

// find is an answer that is fresh. The first that comes later is sent to look again, and the others take it for a moment longer.
func (r *recent) find(which asked) (one answered, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kept := range []*lru.Cache[asked, answered]{r.short, r.long} {
		one, known := kept.Get(which)
		switch {
		case !known:
		case time.Since(one.since) < fresh, time.Since(one.since) < overdue && time.Since(one.checked) < spell:
			return one, true
		default:
			one.checked = time.Now()
			kept.Add(which, one)
			return answered{}, false
		}
	}
	return answered{}, false
}

func (r *recent) put(which asked, one answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, other := r.short, r.long
	if one.bytes() > long {
		kept, other = r.long, r.short
	}
	other.Remove(which)
	kept.Add(which, one)
}

// forget lets the next who asks for the newest of a name look.
func (r *recent) forget(scope, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.short.Remove(asked{scope, name, ""})
	r.long.Remove(asked{scope, name, ""})
}
