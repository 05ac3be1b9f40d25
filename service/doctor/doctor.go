// Package doctor looks at what operators get wrong: the configuration, the machine, the database, and what stands in front.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
)

// Finding is what doctor says of one thing that operators get wrong.
type Finding struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Mend    string `json:"mend,omitempty"` // what to do about it
}

// The verdicts of a Finding.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	Skip = "skip" // not looked at; the text says why
)

// Exam is what doctor is asked to look at.
type Exam struct {
	// Gateway and Runtime say which halves of the service are meant. Default to those that the configuration has a key for,
	// runtime.assertion_key and runtime.assertion_public, and without any to svc serve, which is both in one.
	Gateway, Runtime bool
	// Log hears what the database has to tell. Defaults to slog.Default().
	Log *slog.Logger
}

// Examine looks at what operators get wrong and changes nothing: it makes no folder, no database and no table, and a file that
// it writes to see whether it can is gone afterwards. While a server holds the data folder, what needs the lock is skipped,
// and the server is asked instead; what stands in front of it is asked from outside.
func Examine(ctx context.Context, c config.Config, e Exam) []Finding {
	d := newDoctor(c, e)
	defer d.transport.CloseIdleConnections()
	return d.examine(ctx)
}

type doctor struct {
	config config.Config
	log    *slog.Logger
	parts  []config.Part

	now       func() time.Time
	lookup    func(ctx context.Context, host string) ([]string, error)
	transport *http.Transport // to the outside

	folder   *sqldb.Folder       // nil: there is none, or another holds it
	holder   *sqldb.HeldError    // nil: nobody else holds the folder
	db       *sqldb.DB           // nil: it was not opened
	present  []database.Presence // the processes that are connected to the database
	findings []Finding
}

func newDoctor(c config.Config, e Exam) *doctor {
	return &doctor{
		config: c.WithDefaults(), log: cmp.Or(e.Log, slog.Default()), parts: e.parts(c), now: time.Now, lookup: net.DefaultResolver.LookupHost,
		transport: &http.Transport{DialContext: dialPublic, TLSHandshakeTimeout: askingPublic, DisableKeepAlives: true},
	}
}

// parts are what is looked at.
func (e Exam) parts(c config.Config) []config.Part {
	if !e.Gateway && !e.Runtime {
		e.Gateway, e.Runtime = c.AssertionKey.Reveal() != "", c.AssertionPublic != ""
	}
	switch {
	case e.Gateway && e.Runtime:
		return []config.Part{config.GatewayAlone, config.RuntimeAlone}
	case e.Gateway:
		return []config.Part{config.GatewayAlone}
	case e.Runtime:
		return []config.Part{config.RuntimeAlone}
	}
	return []config.Part{config.Whole}
}

// faces reports whether one of the parts answers the public.
func (d *doctor) faces() bool { return d.parts[0].Faces }

// split reports whether gateway and runtime are two processes.
func (d *doctor) split() bool { return d.parts[0] != config.Whole }

func (d *doctor) examine(ctx context.Context) []Finding {
	d.lookAtConfiguration()
	d.lookAtFolder()
	d.lookAtDisk()
	d.lookAtDatabase(ctx)
	d.lookAtKeys(ctx)
	d.lookAtFiles()
	d.lookAtAgents(ctx)
	d.lookAtProject(ctx)
	d.lookAtBackup()
	if d.faces() {
		d.add("mail", d.judgeMail(ctx))
	}
	d.add("open files", d.judgeLimits())
	d.lookAtAddresses(ctx)
	d.lookAtHalves(ctx)
	d.lookFromOutside(ctx)
	d.leave()
	return d.findings
}

// ExamineMistake looks at what can be looked at although the configuration could not be read: that, and the data folder as
// far as it is known.
func ExamineMistake(c config.Config, mistake error) []Finding {
	d := newDoctor(c, Exam{})
	d.add("configuration", fail(mistake.Error(), "svc serve --help shows every setting, and how it is written"))
	d.lookAtFolder()
	d.leave()
	return d.findings
}

// leave closes what was opened.
func (d *doctor) leave() {
	if d.db != nil {
		if err := d.db.Close(); err != nil {
			d.add("database", fail(err.Error(), ""))
		}
	}
	if d.folder != nil {
		if err := d.folder.Close(); err != nil {
			d.add("lock", fail(err.Error(), ""))
		}
	}
}

func (d *doctor) add(name string, f Finding) {
	f.Name = name
	d.findings = append(d.findings, f)
}

func fine(text string) Finding       { return Finding{Verdict: OK, Text: text} }
func skip(text string) Finding       { return Finding{Verdict: Skip, Text: text} }
func warn(text, mend string) Finding { return Finding{Verdict: Warn, Text: text, Mend: mend} }
func fail(text, mend string) Finding { return Finding{Verdict: Fail, Text: text, Mend: mend} }

func (d *doctor) lookAtFolder() {
	path := d.config.DataDir
	stat := d.findFolder("data", path)
	switch {
	case stat == nil:
		return
	case stat.Mode().Perm()&0o022 != 0:
		loose := sqldb.LooseError{Path: path, Mode: stat.Mode()}
		d.add("data folder", fail(fmt.Sprintf("%s can be changed by others (mode %04o), and is not served from", path, stat.Mode().Perm()), loose.Mend()))
		return
	case stat.Mode().Perm()&0o077 != 0:
		d.add("data folder", warn(fmt.Sprintf("%s can be entered by others (mode %04o)", path, stat.Mode().Perm()), "chmod 700 "+path))
	default:
		if _, err := os.ReadDir(path); err != nil {
			d.add("data folder", fail(err.Error(), "run doctor as the user that runs svc, or give the folder to this one: chown -R"))
			return
		}
		d.add("data folder", fine(path+" is this user's alone"))
	}
	d.add("lock", d.judgeLock(path))
}

// findFolder looks at the folder of a flag. Where there is none it says so, and returns nil.
func (d *doctor) findFolder(flag, path string) os.FileInfo {
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add(flag+" folder", fine(path+" is not there yet: svc "+d.parts[0].Name+" makes it"))
	case err != nil:
		d.add(flag+" folder", fail(err.Error(), "let this user reach the folder, or choose another with --"+flag))
	case !stat.IsDir():
		d.add(flag+" folder", fail(path+" is not a folder", "choose another with --"+flag))
	default:
		return stat
	}
	return nil
}

// judgeLock takes the lock of the data folder, or learns who holds it.
func (d *doctor) judgeLock(path string) Finding {
	folder, err := sqldb.OpenFolder(path)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		d.holder = held
		return fine(fmt.Sprintf("held by process %d", held.PID))
	}
	if err != nil {
		return fail(err.Error(), "give the folder to the user that runs svc: chown -R")
	}
	d.folder = folder
	return fine("free: no server runs on this folder")
}

// Healthy reports whether no finding is a failure.
func Healthy(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Fail })
}

// String is the finding as one line, and what to do about it as a second.
func (f Finding) String() string {
	line := fmt.Sprintf("%-5s %-18s %s", f.Verdict, f.Name, f.Text)
	if f.Mend != "" {
		line += "\n" + strings.Repeat(" ", 25) + "mend: " + f.Mend
	}
	return line
}
