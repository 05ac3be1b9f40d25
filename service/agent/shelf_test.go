package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
)

// lines are what a log was told, a line each.
type lines struct{ notepad.Pad }

func (l *lines) all() []string {
	return strings.Split(strings.TrimSuffix(l.String(), "\n"), "\n")
}

// shelved is agents in files of a folder, which is watched if so.
func shelved(t *testing.T, w *accounttest.World, folder string, watch bool) (stage, *lines) {
	t.Helper()
	told := &lines{}
	c := config(w)
	c.Folder, c.Log = folder, slog.New(slog.NewTextHandler(told, nil))
	s := opened(t, w, c)
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if watch {
		accounttest.Run(t, s.Watch)
	}
	return s, told
}

// put writes a file whole, as editors do.
func put(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestTwoHundredFilesOneOfThemBroken(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, folder := accounttest.New(t, address, accounttest.Options{}), t.TempDir()
		for i := range 200 {
			text := fmt.Sprintf("---\ndescription: Number %d\nmodel: scripted/words\ntools: [read_file]\n---\nYou are number %d.\n", i, i)
			if i == 77 {
				text = strings.Replace(text, "tools: [", "tools: [fly, ", 1)
			}
			put(t, folder, fmt.Sprintf("n%d.md", i), text)
		}
		put(t, folder, "README.txt", "not an agent")
		s, told := shelved(t, w, folder, true)
		live := 0
		for i := range 200 {
			if found := s.newest(t, shop, fmt.Sprintf("n%d", i)); found != nil && found.Version == "file-1" && found.Label == "1" && found.Instructions == fmt.Sprintf("You are number %d.", i) {
				live++
			}
		}
		if live != 199 {
			t.Errorf("%d are live", live)
		}
		if got := told.all(); len(got) != 1 || !strings.Contains(got[0], "n77.md") || !strings.Contains(got[0], "tools[0]") || !strings.Contains(got[0], "fly") {
			t.Errorf("told %q", got)
		}
		s.edited(t, folder)
		again, _ := shelved(t, w, folder, false)
		if found := again.newest(t, other, "n5"); found == nil || found.Version != "file-4" {
			t.Errorf("after a start it is %+v", found)
		}
		if found := again.newest(t, other, "n6"); found == nil || found.Retired || found.Instructions != "You are number 6." {
			t.Errorf("after a start the wrong one is %+v", found)
		}
		if got := told.all(); len(got) != 2 {
			t.Errorf("told %q", got)
		}
	})
}

// edited changes files: what is right is live within a second, what is wrong changes nothing, what is gone takes no prompts.
func (s stage) edited(t *testing.T, folder string) {
	t.Helper()
	best := time.Hour
	for _, text := range []string{"Another.", "A third.", "Another."} {
		put(t, folder, "n5.md", text)
		began := time.Now()
		eventually(t, "the edit is live", func() bool { return s.newest(t, shop, "n5").Instructions == text })
		best = min(best, time.Since(began))
	}
	if best > 5*time.Second {
		t.Errorf("an edit took %v", best)
	}
	put(t, folder, "n6.md", "---\nmodel: [\n---\n")
	put(t, folder, "n7.md", "Changed after it.")
	eventually(t, "the folder was looked at", func() bool { return s.newest(t, shop, "n7").Instructions == "Changed after it." })
	if got := s.newest(t, shop, "n6"); got.Instructions != "You are number 6." || got.Retired {
		t.Errorf("a wrong edit made it %+v", got)
	}
	if err := os.Remove(filepath.Join(folder, "n8.md")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file is gone", func() bool { return s.newest(t, shop, "n8").Retired })
	if got := s.version(t, shop, "n5", "file-1"); got == nil || got.Instructions != "You are number 5." {
		t.Errorf("what it was is %+v", got)
	}
}

func TestAFileWinsOverTheDatabase(t *testing.T) {
	w, folder := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{}), t.TempDir()
	put(t, folder, "writer.md", "From a file.")
	put(t, folder, "central.md", "Not central.")
	s, _ := shelved(t, w, folder, false)
	must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer","instructions":"From the database."}`)))
	if got := s.newest(t, shop, "writer"); got.Instructions != "From a file." || got.Route == nil {
		t.Errorf("writer is %+v", got)
	}
	if got := s.newest(t, shop, "central"); got.Instructions != "As built in." {
		t.Errorf("central is %+v", got)
	}
	if got := must(t)(s.Get(t.Context(), shop, "writer", nil)); got.Source != agent.File || agent.CheckWritable(got.Source) == nil {
		t.Errorf("writer is %+v", got)
	}
	// Work that began with the database's goes on with it.
	if got := s.version(t, shop, "writer", "1"); got == nil || got.Instructions != "From the database." {
		t.Errorf("version 1 is %+v", got)
	}
	all, err := s.List(t.Context(), shop, nil, listing.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range all.Items {
		got = append(got, l.Name+" "+l.Source+" "+l.Shadowed)
	}
	want := "central built-in |central file An agent of this name comes with the service.|writer file |writer database An agent of this name is in a file."
	if strings.Join(got, "|") != want {
		t.Errorf("listed %q", got)
	}
}

func TestNodesAgreeOnTheNumberOfAFile(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, near, far := accounttest.New(t, address, accounttest.Options{}), t.TempDir(), t.TempDir()
		put(t, near, "writer.md", "One.")
		put(t, far, "writer.md", "One.")
		a, _ := shelved(t, w, near, true)
		b, _ := shelved(t, w, far, true)
		is := func(s stage, text string, number int64) {
			t.Helper()
			eventually(t, text, func() bool {
				got := must(t)(s.Get(t.Context(), shop, "writer", nil))
				return got.Instructions == text && got.Version == number
			})
		}
		is(a, "One.", 1)
		is(b, "One.", 1)
		for i, text := range []string{"Two.", "One."} {
			put(t, near, "writer.md", text)
			is(a, text, int64(i)+2)
		}
		// What is behind hears of the numbers that there are.
		is(b, "One.", 3)
		// What goes back counts on, and the other hears of it.
		put(t, far, "writer.md", "Two.")
		is(b, "Two.", 4)
		put(t, far, "writer.md", "One.")
		is(b, "One.", 5)
		is(a, "One.", 5)
	})
}

// asking is the file of an agent that asks another; empty: none.
func asking(name string) string {
	if name == "" {
		return "Answer."
	}
	return "---\ntools: [\"ask_agent:" + name + "\"]\n---\nAsk."
}

func TestFilesThatWouldAskEachOtherForEverAreWrong(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, folder := accounttest.New(t, address, accounttest.Options{}), t.TempDir()
		put(t, folder, "a.md", asking(""))
		put(t, folder, "b.md", asking("a"))
		s, told := shelved(t, w, folder, true)
		asks := func(s stage, name, other string) {
			t.Helper()
			got := must(t)(s.Get(t.Context(), shop, name, nil))
			if is := strings.TrimPrefix(strings.Join(got.Tools, " "), "ask_agent:"); is != other {
				t.Errorf("%s asks %q, want %q", name, is, other)
			}
		}
		put(t, folder, "a.md", asking("b"))
		eventually(t, "it is told", func() bool { return strings.Contains(told.all()[0], "a.md") })
		if line := told.all()[0]; !strings.Contains(line, "a, b, a") {
			t.Errorf("told %s", line)
		}
		asks(s, "a", "")
		asks(s, "b", "a")
		// After a start it is the same one that is wrong.
		again, _ := shelved(t, w, folder, false)
		asks(again, "a", "")
		asks(again, "b", "a")
		// The other yields: what was wrong because of it is right.
		put(t, folder, "b.md", asking(""))
		eventually(t, "it is right", func() bool { return len(must(t)(s.Get(t.Context(), shop, "a", nil)).Tools) == 1 })
		asks(s, "b", "")
		// A workspace cannot close the circle either, nor through a file.
		must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"mine","tools":["ask_agent:a"]}`)))
		put(t, folder, "b.md", asking("c"))
		eventually(t, "it is read", func() bool { return len(must(t)(s.Get(t.Context(), shop, "b", nil)).Tools) == 1 })
		f := wants(t, second(s.Create(t.Context(), ada, shop, draft(t, `{"name":"c","tools":["ask_agent:mine"]}`))), fault.InvalidRequest)
		if !strings.Contains(f.Details, "c, mine, a, b, c") {
			t.Errorf("refused by %s", f.Details)
		}
	})
}

func TestAFolderThatIsNotThereIsSaid(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{})
	c := config(w)
	c.Folder = filepath.Join(t.TempDir(), "none")
	if err := opened(t, w, c).Load(context.Background()); err == nil || !strings.Contains(err.Error(), "agents_dir") {
		t.Errorf("it says %v", err)
	}
}

func TestWhatIsNoFileOfAnAgent(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: b\n---\n":                    "is not that of the file",
		"---\nmodel: x\n":                        "no end",
		"---\nmodle: x\n---\n":                   "field modle not found",
		"---\nmodel: x\nmodel: y\n---\n":         "already defined",
		"---\ntools: read_file\n---\n":           "cannot unmarshal",
		"---\noutputSchema: {1: 2}\n---\n":       "no JSON",
		"---\n- a\n---\n":                        "cannot unmarshal",
		"---\na: &a [*a]\n---\n":                 "",
		strings.Repeat("x", agent.MaxFile+1):     "too long",
		"---\ndescription: \"\\ud800\"\n---\nx":  "",
		"---\nmodel: x\n...\nmodel: y\n---\nxxx": "more than one document",
	} {
		_, err := agent.Parse("a", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "agent.front") {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	d, err := agent.Parse("a", []byte("\ufeff---\r\ndescription: x\r\n---\r\nOne.\r\nTwo.\r\n"))
	if err != nil || d.Description != "x" || d.Instructions != "One.\nTwo." {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := agent.Parse("a", []byte("Only instructions.")); err != nil || d.Instructions != "Only instructions." {
		t.Errorf("%+v, %v", d, err)
	}
}

// FuzzParse reads any text as a file: what is one is printed and read again as the same.
func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ntools: [b]\n---\nText.")
	f.Add("---\nname: a\noutputSchema: {type: object, properties: {x: {enum: [1, 2.5, null, \"y\"]}}}\nexposed: yes\n---\n---\n")
	f.Add("---\nname: &x a\ndescription: *x\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := agent.Parse("", []byte(text))
		if err != nil {
			return
		}
		readAgain(t, d)
	})
}

// readAgain prints an agent and reads it as the same.
func readAgain(t *testing.T, d agent.Definition) {
	t.Helper()
	printed, err := agent.Print(d)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	again, err := agent.Parse("", printed)
	if diff := agent.Diff(d, again); err != nil || len(diff) > 0 || again.Name != d.Name {
		t.Errorf("%s was printed as\n%.1000s\nand read with %v: %.1000s differs", d.Name, printed, err, diff)
	}
}

// FuzzPrint prints an agent whose schema is any JSON, in any form that JSON has.
func FuzzPrint(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","required":["b","a"],"properties":{"b":{},"a":{"const":"\ud83d\ude00 \u00e9 \/ \u2028 \u0000 \u007f \u0085 \uffff \ufeff<&>"}}}`,
		`{"enum":[1.0,1,-0.0,-0,1E2,1e-7,0.1,1e300,9007199254740993,18446744073709551615,123456789012345678901234567890,"1","1e400","0x1","010"]}`,
		`{"enum":["yes","no","~","null","","<<","=","2001-01-01","12:30:45","- a","a: b","a #b","\"","'","|","\n a\n","a\n\n","\ta","a "," a","%","@","!!int","&a","*a"],"<<":{},"":{},"y":1,"1":2,"? ":3}`,
		`{"a":[[],{},[[]],[{"b":null,"c":true}]]}`,
	} {
		f.Add("Short: \"it\"\n\n  is \n\tso # : - \n---\n- x", "Say.\n---\nMore.", schema)
	}
	f.Fuzz(func(t *testing.T, description, instructions, schema string) {
		var value any
		if json.Unmarshal([]byte(schema), &value) != nil || strings.Count(schema, "[")+strings.Count(schema, "{") > 32 || !utf8.ValidString(description+instructions) || strings.ContainsFunc(description+instructions, isControl) {
			t.Skip("no agent is made of it")
		}
		readAgain(t, agent.Definition{Name: "a", Settings: agent.Settings{Description: description}, Instructions: instructions, OutputSchema: json.RawMessage(schema)})
	})
}

// isControl reports whether a character is one that no text of an agent has.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func TestTheLongestAgentFitsIntoAFile(t *testing.T) {
	for name, part := range map[string]string{"deep": strings.Repeat("[", 30) + strings.Repeat("1,", 32_000) + "1" + strings.Repeat("]", 30), "escaped": `"` + strings.Repeat("\x7f", 65_000) + `"`} {
		list := slices.Repeat([]string{strings.Repeat("x", 128)}, 64)
		readAgain(t, agent.Definition{
			Name: name, Instructions: strings.Repeat("x", agent.MaxInstructions), OutputSchema: json.RawMessage(`{"enum":[` + part + `]}`),
			Settings: agent.Settings{Description: strings.Repeat("\U0001f600", 2000), Tools: list, Hosts: list, Connectors: list, MCPs: list, Projects: list},
		})
	}
}

// TestAFileThatCannotBeOpenedStaysAndIsTold has one lead to itself, beside one that is new: what was there stays, after a start too,
// and changes when the file can be read again.
func TestAFileThatCannotBeOpenedStaysAndIsTold(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, folder := accounttest.New(t, address, accounttest.Options{}), t.TempDir()
		put(t, folder, "a.md", "First.")
		s, told := shelved(t, w, folder, true)
		path := filepath.Join(folder, "a.md")
		if err := os.Symlink("a.md", path+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is told", func() bool { return strings.Contains(strings.Join(told.all(), "\n"), "cannot be read") })
		put(t, folder, "b.md", "Another.")
		eventually(t, "the other is live", func() bool { return second(s.Get(t.Context(), shop, "b", nil)) == nil })
		after, _ := shelved(t, w, folder, false)
		for _, s := range []stage{s, after} {
			if got := must(t)(s.Get(t.Context(), shop, "a", nil)); got.Instructions != "First." {
				t.Errorf("it became %+v", got)
			}
		}
		put(t, folder, "a.md", "Second.")
		eventually(t, "it is live again", func() bool { return must(t)(s.Get(t.Context(), shop, "a", nil)).Instructions == "Second." })
		if got := told.all(); len(got) != 1 || !strings.Contains(got[0], path) {
			t.Errorf("told %q", got)
		}
	})
}

// TestAFileIsTakenWhenItIsWhole writes one piece by piece: no piece of it is a version, and no file without a text is one.
func TestAFileIsTakenWhenItIsWhole(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, folder := accounttest.New(t, address, accounttest.Options{}), t.TempDir()
		put(t, folder, "a.md", "First.")
		s, _ := shelved(t, w, folder, true)
		n, steady := pieces(t, filepath.Join(folder, "a.md"), time.Second)
		if got := must(t)(s.Get(t.Context(), shop, "a", nil)); steady && (got.Version != 1 || got.Instructions != "First.") {
			t.Errorf("a piece of it is version %d: %.40q", got.Version, got.Instructions)
		}
		var whole agent.Agent
		eventually(t, "it is live", func() bool {
			whole = must(t)(s.Get(t.Context(), shop, "a", nil))
			return strings.Count(whole.Instructions, "Piece.") == n
		})
		put(t, folder, "a.md", " \n")
		put(t, folder, "b.md", "Another.")
		eventually(t, "the other is live", func() bool { return second(s.Get(t.Context(), shop, "b", nil)) == nil })
		if got := must(t)(s.Get(t.Context(), shop, "a", nil)); got.Version != whole.Version {
			t.Errorf("a file without a text is version %d", got.Version)
		}
	})
}

// pieces writes a file over again, a line every few milliseconds, and reports how many, and whether the machine had the time for it.
func pieces(t *testing.T, path string, long time.Duration) (n int, steady bool) {
	t.Helper()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	steady = true
	for end, last := time.Now().Add(long), time.Now(); last.Before(end); <-tick.C {
		steady = steady && time.Since(last) < 100*time.Millisecond
		if _, err := fmt.Fprintln(out, "Piece."); err != nil {
			t.Fatal(err)
		}
		n, last = n+1, time.Now()
	}
	return n, steady
}

// TestManyFilesAreTakenInParts counts the transactions of a start.
func TestManyFilesAreTakenInParts(t *testing.T) {
	folder := t.TempDir()
	for i := range 250 {
		put(t, folder, fmt.Sprintf("a%d.md", i), "Text.")
	}
	var parts atomic.Int32
	w := accounttest.New(t, sqldbtest.Postgres(t), accounttest.Options{Observe: func(query string, args []any) {
		if strings.Contains(query, "pg_advisory_xact_lock") && len(args) == 1 && args[0] == "agent files" {
			parts.Add(1)
		}
	}})
	s, _ := shelved(t, w, folder, false)
	if n := parts.Load(); n != 3 {
		t.Errorf("250 files are taken in %d parts", n)
	}
	for _, name := range []string{"a0", "a249"} {
		must(t)(s.Get(t.Context(), shop, name, nil))
	}
}
