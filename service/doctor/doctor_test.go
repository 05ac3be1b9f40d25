package doctor_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

// quietly is an exam that tells the log nothing.
var quietly = doctor.Exam{Log: slog.New(slog.DiscardHandler)}

// find is what doctor says of one thing.
func find(t *testing.T, c config.Config, name string) doctor.Finding {
	t.Helper()
	return findIn(t, doctor.Examine(t.Context(), c, quietly), name)
}

func findIn(t *testing.T, findings []doctor.Finding, name string) doctor.Finding {
	t.Helper()
	for _, f := range findings {
		if f.Name == name {
			if (f.Verdict == doctor.Fail || f.Verdict == doctor.Warn) && f.Mend == "" {
				t.Errorf("%+v does not say how to mend it", f)
			}
			return f
		}
	}
	t.Fatalf("doctor does not say anything of %q: %v", name, findings)
	return doctor.Finding{}
}

func TestDoctorMakesNothing(t *testing.T) {
	c := servicetest.Config(t)
	if findings := doctor.Examine(t.Context(), c, quietly); !doctor.Healthy(findings) {
		t.Errorf("%v", findings)
	}
	if _, err := os.Stat(c.DataDir); err == nil {
		t.Error("the data folder was made")
	}
	if err := os.Mkdir(c.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	find(t, c, "database")
	if _, err := os.Stat(filepath.Join(c.DataDir, "svc.db")); err == nil {
		t.Error("the database was made")
	}
}

func TestDoctorWarnsOfAnOpenFolder(t *testing.T) {
	c := servicetest.Config(t)
	if err := os.Mkdir(c.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for mode, verdict := range map[os.FileMode]string{0o755: doctor.Warn, 0o777: doctor.Fail, 0o770: doctor.Fail} {
		if err := os.Chmod(c.DataDir, mode); err != nil {
			t.Fatal(err)
		}
		if f := find(t, c, "data folder"); f.Verdict != verdict || f.Mend != "chmod 700 "+c.DataDir {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorWarnsOfWeakerCommits(t *testing.T) {
	c := servicetest.Config(t)
	servicetest.Once(t, c)
	if f := find(t, c, "sqlite.synchronous"); f.Verdict != doctor.OK {
		t.Errorf("%+v", f)
	}
	c.Synchronous = "NORMAL"
	if f := find(t, c, "sqlite.synchronous"); f.Verdict != doctor.Warn {
		t.Errorf("%+v", f)
	}
}

func TestDoctorAsksTheServerThatHoldsTheFolder(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	c.OpsListen = strings.TrimPrefix(s.Operations, "http://")
	if f := find(t, c, "lock"); f.Text != fmt.Sprintf("held by process %d", os.Getpid()) {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "database"); f.Verdict != doctor.Skip {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "server"); f.Verdict != doctor.OK {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFindsATakenAddress(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	c := servicetest.Config(t)
	c.Listen = strings.TrimPrefix(s.Address, "http://")
	if f := find(t, c, "listen"); f.Verdict != doctor.Fail {
		t.Errorf("%+v", f)
	}
}

func TestDoctorLooksIntoPostgres(t *testing.T) {
	c := servicetest.Config(t)
	c.Database = sqldbtest.Postgres(t)
	if f := find(t, c, "migrations"); f.Verdict != doctor.Warn || !strings.Contains(f.Mend, "svc migrate") {
		t.Errorf("%+v", f)
	}
	if f := find(t, c, "clock"); f.Verdict != doctor.OK {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFindsADatabaseThatDoesNotAnswer(t *testing.T) {
	c := servicetest.Config(t)
	c.Database = "postgres://svc@127.0.0.1:1/svc?connect_timeout=1"
	if f := find(t, c, "database"); f.Verdict != doctor.Fail {
		t.Errorf("%+v", f)
	}
}

func TestDoctorReachesForTheMailServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := servicetest.Config(t)
	c.SMTPFrom = "svc@example.com"
	c.SMTPURL = secret.Hide("smtp://svc:hunter2@" + l.Addr().String())
	if f := find(t, c, "mail"); f.Verdict != doctor.OK || f.Text != l.Addr().String()+" answers" {
		t.Errorf("%+v", f)
	}
	l.Close()
	if f := find(t, c, "mail"); f.Verdict != doctor.Warn || strings.Contains(f.Text, "hunter2") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorJudgesTheConfiguration(t *testing.T) {
	at := func(platform, agents, admin, domain string) func(*config.Config) {
		return func(c *config.Config) {
			c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = platform, agents, admin, domain
		}
	}
	for name, test := range map[string]struct {
		change         func(*config.Config)
		about, verdict string
		text           string
	}{
		"defaults":              {func(*config.Config) {}, "hosts", doctor.OK, "svc.localhost, agents.svc.localhost, admin.svc.localhost"},
		"one host twice":        {at("http://a.localhost", "http://a.localhost:1", "http://c.localhost", ""), "hosts", doctor.Fail, "url.agents: url.platform has the host a.localhost too"},
		"at home":               {func(*config.Config) {}, "https", doctor.OK, "development"},
		"http in production":    {at("http://example.com", "", "", ""), "https", doctor.Fail, "url.platform: http://example.com is not https"},
		"https in production":   {at("https://example.com", "https://a.example.com", "https://b.example.com", "example.com"), "https", doctor.OK, "production"},
		"domain fits":           {at("https://example.com", "https://a.example.com", "https://b.example.com", "example.com"), "cookie_domain", doctor.OK, "example.com"},
		"domain is elsewhere":   {at("https://example.com", "https://a.example.com", "https://b.example.com", "example.org"), "cookie_domain", doctor.Fail, "does not lie below example.org"},
		"domain is a suffix":    {at("https://a.co.uk", "https://b.co.uk", "https://c.co.uk", "co.uk"), "cookie_domain", doctor.Fail, "public suffix"},
		"domain of others":      {at("http://a.localhost", "http://b.localhost", "http://c.localhost", ""), "cookie_domain", doctor.Warn, "a.localhost of url.platform does not lie below cookie_domain svc.localhost"},
		"domain at home":        {func(*config.Config) {}, "cookie_domain", doctor.OK, "svc.localhost"},
		"mail has no sender":    {func(c *config.Config) { c.SMTPURL = secret.Hide("smtp://u:hunter2@127.0.0.1:1") }, "configuration", doctor.Fail, "smtp.from"},
		"bodies never fit":      {func(c *config.Config) { c.LimitBody, c.LimitBuffered = 2<<20, 1<<20 }, "configuration", doctor.Fail, "limits.body: 2MiB is more than limits.buffered, 1MiB"},
		"no mail at home":       {func(*config.Config) {}, "mail", doctor.OK, "is off"},
		"no mail in production": {at("https://example.com", "https://a.example.com", "https://b.example.com", "example.com"), "mail", doctor.Warn, "is off"},
	} {
		c := servicetest.Config(t)
		test.change(&c)
		f := findIn(t, doctor.ExamineIn(t.Context(), c, quietly, doctor.World{Lookup: nowhere}), test.about)
		if f.Verdict != test.verdict || !strings.Contains(f.Text, test.text) || strings.Contains(f.Text, "hunter2") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// nowhere is a name server that knows no host.
func nowhere(_ context.Context, host string) ([]string, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func TestDoctorTriesTheKeysOnTheDatabase(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		s := servicetest.Start(t, c)
		s.Stop()
		<-s.Done
		keys := filepath.Join(c.DataDir, "keys.json")
		if f := find(t, c, "secrets"); f.Verdict != doctor.OK {
			t.Errorf("%+v", f)
		}
		if err := os.Chmod(keys, 0o644); err != nil {
			t.Fatal(err)
		}
		if f := find(t, c, "key ring"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "0644") || !strings.HasPrefix(f.Mend, "chmod 600 ") {
			t.Errorf("others may read it: %+v", f)
		}
		if err := os.Remove(keys); err != nil {
			t.Fatal(err)
		}
		if f := find(t, c, "key ring"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "only its keys open") || !strings.Contains(f.Mend, "restore the file") {
			t.Errorf("it is lost: %+v", f)
		}
		other, err := secret.NewRing()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.WriteNew(keys); err != nil {
			t.Fatal(err)
		}
		if f := find(t, c, "secrets"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "is not in the ring") {
			t.Errorf("another ring: %+v", f)
		}
	})
}

func TestDoctorLeavesNothingBehind(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	s.Stop()
	<-s.Done
	before := tree(t, c.DataDir)
	find(t, c, "files folder")
	if after := tree(t, c.DataDir); !slices.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// tree is every name below a folder.
func tree(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDoctorTriesTheFilesFolder(t *testing.T) {
	c := servicetest.Config(t)
	if f := find(t, c, "files folder"); f.Verdict != doctor.OK || !strings.Contains(f.Text, "not there yet") {
		t.Errorf("%+v", f)
	}
	c.FilesDir = t.TempDir()
	if f := find(t, c, "files folder"); f.Verdict != doctor.OK || !strings.Contains(f.Text, "files renamed") {
		t.Errorf("%+v", f)
	}
	c.FilesDir = "/proc" // where nobody can make a folder, whoever it is
	if f := find(t, c, "files folder"); f.Verdict != doctor.Fail {
		t.Errorf("%+v", f)
	}
	c.FilesDir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(c.FilesDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := find(t, c, "files folder"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "is not a folder") {
		t.Errorf("%+v", f)
	}
}

// Two nodes that have a folder each of the same name do not share it.
func TestDoctorSeesWhetherNodesShareTheirFiles(t *testing.T) {
	address := sqldbtest.Postgres(t)
	node := func(files string) config.Config {
		c := servicetest.Config(t)
		c.Database, c.FilesDir = address, files
		if err := os.MkdirAll(files, 0o700); err != nil {
			t.Fatal(err)
		}
		return c
	}
	shared := t.TempDir()
	a := node(shared)
	first := servicetest.Start(t, a)
	if f := find(t, a, "shared files"); f.Verdict != doctor.OK || !strings.Contains(f.Text, "no other node") {
		t.Errorf("alone: %+v", f)
	}
	b := node(shared)
	b.KeysFile = filepath.Join(a.DataDir, "keys.json")
	second := servicetest.Start(t, b)
	if f := find(t, a, "shared files"); f.Verdict != doctor.OK || !strings.Contains(f.Text, "1 other nodes rename files") {
		t.Errorf("shared: %+v", f)
	}
	second.Stop()
	<-second.Done
	apart := node(t.TempDir())
	apart.KeysFile = b.KeysFile
	third := servicetest.Start(t, apart)
	if f := find(t, a, "shared files"); f.Verdict != doctor.Fail || !strings.Contains(f.Text, "nothing of it is in "+shared) {
		t.Errorf("apart, here: %+v", f)
	}
	if f := find(t, apart, "shared files"); f.Verdict != doctor.Fail {
		t.Errorf("apart, there: %+v", f)
	}
	// A node that has gone leaves no mark.
	for _, s := range []*servicetest.Served{first, third} {
		s.Stop()
		<-s.Done
	}
	if left := tree(t, filepath.Join(shared, ".nodes")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDoctorNamesFilesThatAreNoAgents(t *testing.T) {
	c := servicetest.Config(t)
	folder := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range doctor.Examine(t.Context(), c, quietly) {
		if f.Name == "agent files" {
			t.Errorf("there is no folder of agents: %+v", f)
		}
	}
	c.AgentsDir = folder
	put("writer.md", "---\ntools: [read_file]\nmodel: anthropic/claude\n---\nWrite.\n")
	put("notes.txt", "no agent, and none is meant")
	if f := find(t, c, "agent files"); f.Verdict != doctor.OK || f.Text != "1 agent in "+folder {
		t.Errorf("%+v", f)
	}
	put("flies.md", "---\ntools: [fly]\n---\n")
	put("Broken.md", "---\nnmae: x\n---\n")
	if f := find(t, c, "agent files"); f.Verdict != doctor.Warn || !strings.Contains(f.Text, `flies.md: tools[0]: there is no "fly".`) || !strings.Contains(f.Text, "Broken.md: ") {
		t.Errorf("%+v", f)
	}
	for i := range 20 {
		put(fmt.Sprintf("bad-%d.md", i), "---\n")
	}
	if f := find(t, c, "agent files"); !strings.HasSuffix(f.Text, "; and 12 more") {
		t.Errorf("%+v", f)
	}
	gateway := doctor.Exam{Gateway: true, Log: quietly.Log}
	for _, f := range doctor.Examine(t.Context(), c, gateway) {
		if f.Name == "agent files" {
			t.Errorf("a gateway has no agents: %+v", f)
		}
	}
	c.AgentsDir = filepath.Join(folder, "gone")
	if f := find(t, c, "agent files"); f.Verdict != doctor.Fail {
		t.Errorf("%+v", f)
	}
}
