package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/mirror"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// keptFile is a file of a project, for machines.
type keptFile struct {
	Project string `json:"project"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	ETag    string `json:"etag"`
	File    string `json:"file,omitempty"` // on this machine
}

func (h house) projectsGet() *cobra.Command {
	v := h.verb("get PROJECT/PATH [FILE]", "Fetch a file",
		`Fetch a file of a project and write it to FILE, which is the old one or the new one whatever happens; without FILE, or with "-", to standard output; a terminal gets it without what it would obey. With --json FILE is needed, and what is answered says which content it is.

A connection that breaks is made again, and only what is left is fetched. If that does not help, what has arrived stays beside FILE, and the same command goes on with it.`,
		`  svc projects get docs/guides/start.md
  svc projects get docs/logo.png logo.png --json`, command.Args(1, 2, "PROJECT/PATH"))
	v.ValidArgsFunction = v.completeProjects
	asJSON := command.JSONFlag(v.Command)
	return v.does(func(c *contact, args []string) error {
		a, err := parseAddress(args[0])
		if err != nil {
			return err
		}
		to := append(args, "-")[1]
		if err := a.isFile(); err != nil {
			return err
		}
		if to == "-" && *asJSON {
			return command.Usagef("--json needs FILE: standard output is the answer's")
		}
		f, err := v.fetch(c, a, to)
		if err != nil {
			return err
		}
		if *asJSON {
			return command.Print(v.OutOrStdout(), f)
		}
		if to != "-" {
			fmt.Fprintf(v.ErrOrStderr(), "%s: %s\n", to, screen.Bytes(f.Bytes))
		}
		return nil
	})
}

// fetch writes a file of a project to one of this machine. Its content is compared with what the service says it is.
func (v *verb) fetch(c *contact, a address, to string) (f keptFile, err error) {
	if _, err := c.product(); err != nil {
		return f, err
	}
	patient, err := c.client(v.house, spaceOf(c.profile.BaseURL), patience)
	if err != nil {
		return f, err
	}
	progress := screen.NewProgress(v.ErrOrStderr())
	out := v.OutOrStdout()
	if screen.IsTerminal(out) {
		out = screen.Cleaning(out)
	}
	d := &download{ctx: v.Context(), client: patient, at: a, into: &passing{to: out}, shown: func(int64, int64) {}}
	f = keptFile{Project: a.slug, Path: a.path}
	if to == "-" {
		err = d.run()
	} else {
		f.File, d.shown = to, func(n, size int64) { progress.Show("%s: %s", to, far(n, size)) }
		kept := &partial{name: to}
		d.into = kept
		var left bool
		if left, err = kept.finish(d.run()); left {
			err = fmt.Errorf("%w (%s arrived: the same command goes on there)", c.explain(err), far(d.n, d.size))
		}
	}
	progress.Done()
	f.Bytes, f.ETag = d.n, d.etag
	if err != nil {
		return f, fmt.Errorf("%s: %w", a, c.explain(err))
	}
	return f, nil
}

// counted tells how much was read.
func counted(from io.Reader, tell func(int64)) io.Reader { return &counter{from: from, tell: tell} }

type counter struct {
	from io.Reader
	n    int64
	tell func(int64)
}

func (c *counter) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

func (h house) projectsPut() *cobra.Command {
	v := h.verb("put FILE PROJECT/PATH", "Store a file",
		`Store a file in a project, over the one that is there. "-" is standard input. A path that ends with a slash is a folder's, and the file keeps its name.

With --if-match the file is replaced only if it still is what it was (the etag that svc projects ls --json shows), with --new only stored if there is none.`,
		`  svc projects put start.md docs/guides/
  make report | svc projects put - docs/report.txt
  svc projects put start.md docs/start.md --if-match '"9f86d0…"'`, command.Args(2, 2, "FILE", "PROJECT/PATH"))
	match := v.Flags().String("if-match", "", "the etag that the file must have")
	fresh := v.Flags().Bool("new", false, "store it only if there is none")
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		a, err := parseAddress(args[1])
		if err != nil {
			return err
		}
		if a.path == "" || strings.HasSuffix(a.path, "/") {
			a.path = path.Join(a.path, filepath.Base(args[0]))
		}
		if args[0] == "-" && path.Base(a.path) == "-" {
			return command.Usagef("what comes from standard input has no name: give the whole path")
		}
		header := http.Header{}
		if *match != "" {
			header.Set("If-Match", *match)
		}
		if *fresh {
			header.Set("If-None-Match", "*")
		}
		f, err := v.store(c, a, args[0], header)
		if err != nil {
			return address{slug: a.slug}.missing(c, err)
		}
		return answer(f, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", a, screen.Bytes(f.Bytes)) })
	})
}

// store sends a file of this machine, or what comes in.
func (v *verb) store(c *contact, a address, from string, header http.Header) (f keptFile, err error) {
	space, err := c.product()
	if err != nil {
		return f, err
	}
	progress := screen.NewProgress(v.ErrOrStderr())
	defer progress.Done()
	r := client.Request{Method: http.MethodPut, Path: a.files(), Header: header, Length: -1, Body: once(v.InOrStdin())}
	header.Set("Content-Type", "application/octet-stream")
	if from != "-" {
		info, err := os.Stat(from)
		if err != nil {
			return f, err
		}
		if !info.Mode().IsRegular() {
			return f, command.Usagef("%s is not a file", from)
		}
		r.Length = info.Size()
		r.Body = func() (io.ReadCloser, error) {
			file, err := os.Open(from)
			if err != nil {
				return nil, err
			}
			return closing(counted(file, func(n int64) { progress.Show("%s: %s of %s", from, screen.Bytes(n), screen.Bytes(info.Size())) }), file), nil
		}
		f.File = from
	}
	err = space.Call(v.Context(), r, &f)
	if mine, ok := isStored(err, from); ok {
		f.ETag, f.Bytes, err = mine, r.Length, nil
	}
	f.Project, f.Path = a.slug, a.path
	return f, err
}

// isStored reports whether a conflict is with this very content, and its etag: the answer to a request that was sent twice was lost.
func isStored(err error, from string) (etag string, ok bool) {
	conflict, ok := errors.AsType[mirror.Conflict](conflicts(err))
	if !ok || from == "-" {
		return "", false
	}
	file, err := os.Open(from)
	if err != nil {
		return "", false
	}
	defer file.Close()
	etag, err = mirror.ETag(file)
	return etag, err == nil && conflict.Now == etag
}

// closing reads from one and closes the other.
func closing(r io.Reader, c io.Closer) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{r, c}
}

// once opens what can be read only once: a second attempt has nothing to send.
func once(in io.Reader) func() (io.ReadCloser, error) {
	opened := false
	return func() (io.ReadCloser, error) {
		if opened {
			return nil, errors.New("standard input cannot be sent twice")
		}
		opened = true
		return io.NopCloser(in), nil
	}
}
