package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

func (n *node) path() string { return filepath.Join(n.folder, "checkpoints.jsonl") }

func (n *node) lines() []string {
	n.t.Helper()
	text, err := os.ReadFile(n.path())
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (n *node) writeLines(lines ...string) {
	n.t.Helper()
	if err := os.WriteFile(n.path(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// signed is a line as anybody reads it.
type signed struct {
	Full   bool
	Chains int
	Heads  []struct {
		Chain string
		Seq   int64
	}
	Prev string
}

func (n *node) parsed() (list []signed) {
	n.t.Helper()
	for _, line := range n.lines() {
		var s signed
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			n.t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func TestCheckpointSurvivesRestart(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 5)
		n.fill(bo, 5)
		n.checkpoint()
		n.reopen()
		n.fill(ada, 5)
		n.checkpoint()
		n.mustHold()
		if list := n.parsed(); len(list) != 2 || !list[0].Full || list[0].Prev != "" || !list[1].Full || list[1].Prev == "" || len(list[1].Heads) != 2 {
			t.Errorf("lines %+v", list)
		}
		n.exec(`DELETE FROM audit_events WHERE seq > 7`)
		n.exec(`UPDATE audit_heads SET seq = 7, hash = (SELECT hash FROM audit_events WHERE seq = 7) WHERE chain = $1`, ada)
		n.reopen()
		n.mustBlame(ada, 8)
	})
}

func TestCheckpointNamesWhatChanged(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.checkpoint()
	if _, err := os.Stat(n.path()); err == nil {
		t.Error("a checkpoint of nothing was made")
	}
	for i := range 50 {
		n.fill(fmt.Sprintf("users/u%d/personal", i), 1)
	}
	n.checkpoint()
	n.checkpoint()
	n.fill(ada, 2)
	n.checkpoint()
	n.fill(ada, 1)
	n.fill("users/u7/personal", 1)
	n.checkpoint()
	list := n.parsed()
	if len(list) != 3 || len(list[0].Heads) != 50 || len(list[1].Heads) != 1 || len(list[2].Heads) != 2 || list[2].Chains != 51 || list[2].Full {
		t.Errorf("lines %+v", list)
	}
	n.mustHold()
}

func TestCheckpointsAreForTheirOwnerAlone(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 1)
	n.checkpoint()
	for path, want := range map[string]os.FileMode{n.folder: 0o700, n.path(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestTornLineIsNoCheckpoint(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 3)
	n.checkpoint()
	whole := n.lines()[0]
	for _, torn := range []string{"{", whole[:len(whole)/2], whole} {
		n.writeLines(whole)
		f, err := os.OpenFile(n.path(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if r := n.verify(); !r.OK() || r.Checkpoints != 1 {
			t.Errorf("torn after %d bytes: %+v", len(torn), r)
		}
		n.fill(ada, 1)
		n.reopen()
		n.checkpoint()
		if r := n.verify(); !r.OK() || r.Checkpoints != 2 || len(n.lines()) != 2 {
			t.Errorf("written after a torn line of %d bytes: %+v", len(torn), r)
		}
	}
	if err := os.WriteFile(n.path(), []byte(whole[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	n.reopen()
	n.checkpoint()
	if r := n.verify(); !r.OK() || r.Checkpoints != 1 {
		t.Errorf("written over a file that was torn at its first line: %+v", r)
	}
}

func TestTamperedCheckpointIsFound(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	for range 6 {
		n.fill(ada, 2)
		n.fill(bo, 1)
		n.checkpoint()
	}
	good := n.lines()
	n.mustHold()
	c := n.config()
	c.Seed, c.Folder = bytes.Repeat([]byte{9}, 32), filepath.Join(t.TempDir(), "forged")
	if err := openLog(t, n.db, c).Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	forged, err := os.ReadFile(filepath.Join(c.Folder, "checkpoints.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(i int, line string) []string {
		list := slices.Clone(good)
		list[i] = line
		return list
	}
	swapped := slices.Clone(good)
	swapped[2], swapped[3] = swapped[3], swapped[2]
	for name, c := range map[string]struct {
		lines []string
		line  int
	}{
		"a seq is changed":             {with(2, strings.Replace(good[2], `"seq":6`, `"seq":5`, 1)), 3},
		"a hash is changed":            {with(2, strings.Replace(good[2], `"hash":"`, `"hash":"00`, 1)), 3},
		"a time is changed":            {with(2, strings.Replace(good[2], `"ts":"2026`, `"ts":"2025`, 1)), 3},
		"a space is added":             {with(2, strings.Replace(good[2], `,`, `, `, 1)), 3},
		"a key is doubled":             {with(2, strings.Replace(good[2], `{"chains":2,`, `{"chains":2,"chains":2,`, 1)), 3},
		"a key is in capitals":         {with(2, strings.Replace(good[2], `"chains"`, `"CHAINS"`, 1)), 3},
		"a key is added":               {with(2, strings.Replace(good[2], `{`, `{"a":1,`, 1)), 3},
		"the signature is another's":   {with(2, strings.TrimSpace(string(forged))), 3},
		"the signature is gone":        {with(2, good[2][:strings.Index(good[2], `"signature"`)]+good[2][strings.Index(good[2], `"ts"`):]), 3},
		"the signature is empty":       {with(2, good[2][:strings.Index(good[2], `"signature"`)]+`"signature":"",`+good[2][strings.Index(good[2], `"ts"`):]), 3},
		"a line is empty":              {with(2, ""), 3},
		"a line is not JSON":           {with(2, "not JSON"), 3},
		"a line is null":               {with(2, "null"), 3},
		"a line is deleted":            {slices.Delete(slices.Clone(good), 2, 3), 3},
		"a line is there twice":        {slices.Insert(slices.Clone(good), 2, good[2]), 4},
		"two lines are swapped":        {swapped, 3},
		"the last line is an old one":  {append(slices.Clone(good), good[0]), 7},
		"a line is cut":                {with(2, good[2][:len(good[2])-5]), 3},
		"a head of the line is gone":   {with(2, strings.Replace(good[2], `"heads":[{`, `"heads":[],"x":[{`, 1)), 3},
		"the line says it is full":     {with(2, strings.Replace(good[2], `"full":false`, `"full":true`, 1)), 3},
		"the line names another chain": {with(2, strings.Replace(good[2], ada, bo, 1)), 3},
	} {
		if slices.Equal(c.lines, good) {
			t.Errorf("%s: nothing was changed", name)
		}
		n.writeLines(c.lines...)
		r := n.verify()
		if !slices.ContainsFunc(r.Faults, func(f audit.Fault) bool { return f.File == n.path() && f.Line == c.line }) {
			t.Errorf("%s: found %v", name, r.Faults)
		}
		if slices.ContainsFunc(r.Faults, func(f audit.Fault) bool { return f.File == "" }) {
			t.Errorf("%s: blamed the log: %v", name, r.Faults)
		}
	}
	n.writeLines(good...)
	n.mustHold()
	n.writeLines(good[1:]...) // as when the file was rotated: what is named is still compared
	n.mustHold()
}

func TestVanishedChainIsSeenByTheNextCheckpoint(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 3)
	n.fill(bo, 3)
	n.checkpoint()
	n.exec(`DELETE FROM audit_events WHERE chain = $1`, bo)
	n.exec(`DELETE FROM audit_heads WHERE chain = $1`, bo)
	n.fill(ada, 1)
	n.checkpoint()
	n.mustBlame(bo, 1)
	if r := n.verify(); !slices.ContainsFunc(r.Faults, func(f audit.Fault) bool { return f.Line == 2 }) {
		t.Errorf("the root covers a chain that is not there: %v", r.Faults)
	}
}

func TestEachNodeHasItsOwnCheckpoints(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := open(t, address)
		b := a.second(address)
		a.fill(ada, 5)
		a.checkpoint()
		b.fill(ada, 5)
		b.fill(bo, 5)
		b.checkpoint()
		b.fill(bo, 1)
		a.checkpoint()
		b.checkpoint()
		report, err := audit.Verify(t.Context(), a.db, a.PublicKey(), a.path(), b.path(), filepath.Join(t.TempDir(), "none"))
		if err != nil || !report.OK() || report.Checkpoints != 4 {
			t.Errorf("report %+v, error %v", report, err)
		}
		a.exec(`DELETE FROM audit_events WHERE chain = $1 AND seq = 6`, bo)
		a.exec(`UPDATE audit_heads SET seq = 5, hash = (SELECT hash FROM audit_events WHERE chain = $1 AND seq = 5) WHERE chain = $1`, bo)
		a.mustBlame(bo, 6)
		b.mustBlame(bo, 6)
	})
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

func TestRunMakesACheckpointEveryThousandEvents(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	n.fill(ada, 1000)
	n.fill(ada, 10)
	eventually(t, "a checkpoint after a thousand events", func() bool {
		_, err := os.Stat(n.path())
		return err == nil
	})
	n.Refused(t.Context(), audit.Event{Action: "login"})
	n.fill(bo, 3)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := n.count(`SELECT COALESCE(sum(count), 0) FROM audit_refusals`); got != 1 {
		t.Errorf("%d refusals were written at the end", got)
	}
	last := n.parsed()[len(n.lines())-1]
	if i := len(last.Heads) - 1; last.Heads[i].Chain != bo || last.Heads[i].Seq != 3 {
		t.Errorf("the last checkpoint is %+v", last)
	}
	n.mustHold()
}

func TestCheckpointThatCannotBeWrittenIsMadeLater(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 3)
	if err := os.WriteFile(n.folder, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if n.Checkpoint(t.Context()) == nil {
		t.Error("a checkpoint was written to nowhere")
	}
	if err := os.Remove(n.folder); err != nil {
		t.Fatal(err)
	}
	n.checkpoint()
	if r := n.verify(); !r.OK() || r.Checkpoints != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestLogWithoutFolderMakesNoCheckpoint(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	c := n.config()
	c.Folder = ""
	l := openLog(t, n.db, c)
	n.fill(ada, 3)
	if err := l.Checkpoint(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := l.Verify(t.Context()); err != nil || !r.OK() || r.Checkpoints != 0 {
		t.Errorf("report %+v, error %v", r, err)
	}
}
