package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
)

// good is what a PostgreSQL server says of itself that is as it should be.
func good() facts {
	now := time.Now()
	return facts{version: "15.4", number: 150004, fsync: "on", synchronous: "on", most: 100, reserved: 3, clock: now, asked: now}
}

func TestDoctorJudgesPostgres(t *testing.T) {
	some := []database.Presence{{Node: "node_a"}, {Node: "node_b"}, {Node: "node_c"}, {Node: "node_d"}}
	for name, test := range map[string]struct {
		change  func(*facts)
		address string
		judge   func(*doctor, facts) Finding
		verdict string
		text    string
	}{
		"the version":                {func(*facts) {}, "", (*doctor).judgeVersion, OK, "PostgreSQL 15.4"},
		"a version that is too old":  {func(f *facts) { f.version, f.number = "14.11", 140011 }, "", (*doctor).judgeVersion, Fail, "PostgreSQL 14.11 is older"},
		"what survives":              {func(*facts) {}, "", (*doctor).judgeDurability, OK, "fsync is on"},
		"no fsync":                   {func(f *facts) { f.fsync = "off" }, "", (*doctor).judgeDurability, Fail, "fsync is off"},
		"commits that do not wait":   {func(f *facts) { f.synchronous = "off" }, "", (*doctor).judgeDurability, Fail, "synchronous_commit is off"},
		"room for one":               {func(*facts) {}, "", (*doctor).judgeConnections, OK, "1 processes of up to 26 connections each; the server has room for 97"},
		"no room for four":           {func(f *facts) { f.present = some }, "", (*doctor).judgeConnections, Warn, "5 processes"},
		"room for four that are few": {func(f *facts) { f.present = some }, "postgres://x/y?pool_max_conns=4", (*doctor).judgeConnections, OK, "of up to 14 connections"},
		"no room at all":             {func(f *facts) { f.most = 20 }, "", (*doctor).judgeConnections, Fail, "room for 17"},
	} {
		f := good()
		test.change(&f)
		d := &doctor{config: config.Config{Database: test.address}}
		if got := test.judge(d, f); got.Verdict != test.verdict || !strings.Contains(got.Text, test.text) || (got.Verdict == OK) != (got.Mend == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDoctorJudgesClocks(t *testing.T) {
	for apart, want := range map[time.Duration]string{
		0: OK, 900 * time.Millisecond: OK, -900 * time.Millisecond: OK, 2 * time.Second: Warn, -29 * time.Second: Warn, 31 * time.Second: Fail, -time.Hour: Fail,
	} {
		if got := judgeClock(apart, "PostgreSQL's", clockApart); got.Verdict != want {
			t.Errorf("%s: %+v", apart, got)
		}
	}
}

func TestDoctorJudgesMarks(t *testing.T) {
	now := time.Now()
	d := &doctor{now: func() time.Time { return now }, config: config.Config{FilesDir: "files"}}
	fresh := mark{Node: "node_b", At: now, Sees: []string{"node_a", "node_b"}}
	mine := mark{Node: "node_a", At: now, Sees: []string{"node_a", "node_b"}}
	for name, test := range map[string]struct {
		marks []mark
		want  string // empty: nothing is wrong
	}{
		"both see both":      {[]mark{mine, fresh}, ""},
		"mine is not there":  {[]mark{fresh}, ""},
		"none of the other":  {[]mark{mine}, "nothing of it is in files"},
		"an old one":         {[]mark{mine, {Node: "node_b", At: now.Add(-time.Hour)}}, "is 1h0m0s old"},
		"it does not see us": {[]mark{mine, {Node: "node_b", At: now, Sees: []string{"node_b"}}}, "does not see what this node writes"},
		"we have just come":  {[]mark{{Node: "node_a", At: now}, {Node: "node_b", At: now.Add(-10 * time.Second), Sees: []string{"node_b"}}}, ""},
	} {
		if got := d.judgeMark(test.marks, "node_b", "node_a"); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMarksSayWhoSeesWhom(t *testing.T) {
	folder, now := filepath.Join(t.TempDir(), marksFolder), time.Now()
	for _, node := range []string{"node_a", "node_b", "node_a"} {
		if err := leaveMark(folder, node, now); err != nil {
			t.Fatal(err)
		}
	}
	// What is no mark, and what stands under another's name, is none.
	for name, text := range map[string]string{"node_c": "x", "node_d": `{"node":"node_a"}`, ".node_e.new": `{"node":".node_e.new"}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	marks := readMarks(folder)
	if len(marks) != 2 || marks[0].Node != "node_a" || !marks[0].sees("node_b") || !marks[1].sees("node_a") {
		t.Errorf("%+v", marks)
	}
	if err := leaveMark(filepath.Join(t.TempDir(), "not mounted", marksFolder), "node_a", now); err == nil {
		t.Error("a files folder was made")
	}
}

func TestDoctorNoticesAnotherFileSystem(t *testing.T) {
	if got := otherDevice("/"); got == "" {
		t.Error("/proc is not seen")
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := otherDevice(folder); got != "" {
		t.Errorf("%s", got)
	}
}

func TestDoctorIsOfThePartsThatHaveAKey(t *testing.T) {
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		env  map[string]string
		exam Exam
		want string
	}{
		"none":             {nil, Exam{}, "serve"},
		"a key":            {map[string]string{"runtime.assertion_key": pair.Key}, Exam{}, "gateway"},
		"a public key":     {map[string]string{"runtime.assertion_public": pair.Public}, Exam{}, "runtime"},
		"both":             {map[string]string{"runtime.assertion_key": pair.Key, "runtime.assertion_public": pair.Public}, Exam{}, "gateway runtime"},
		"both, asked one":  {map[string]string{"runtime.assertion_key": pair.Key, "runtime.assertion_public": pair.Public}, Exam{Runtime: true}, "runtime"},
		"none, asked both": {nil, Exam{Gateway: true, Runtime: true}, "gateway runtime"},
	} {
		var c config.Config
		for _, s := range c.Settings() {
			if text, found := test.env[s.Key]; found {
				if err := s.Set(text); err != nil {
					t.Fatal(err)
				}
			}
		}
		var names []string
		for _, p := range test.exam.parts(c) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
