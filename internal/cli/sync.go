package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/cli/mirror"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// projectFiles are the files of a project below a path, as a mirror sees them.
type projectFiles struct {
	client *client.Client
	at     address // its path is empty or ends with a slash
	skip   func(path string) bool
}

func (p projectFiles) file(path string) string { return address{p.at.slug, p.at.path + path}.files() }

// List implements mirror.Remote.
func (p projectFiles) List(ctx context.Context) (files []mirror.File, err error) {
	all, err := list(ctx, p.client, address{slug: p.at.slug}.files(), p.at.query(true), 0)
	if err != nil {
		return nil, err
	}
	told, err := decoded[mirror.File](all.Items)
	for _, f := range told {
		if f.Path = strings.TrimPrefix(f.Path, p.at.path); !p.skip(f.Path) {
			files = append(files, f)
		}
	}
	return files, err
}

// Put implements mirror.Remote.
func (p projectFiles) Put(ctx context.Context, path string, size int64, open func() (io.ReadCloser, error), match string) error {
	header := condition(match)
	header.Set("Content-Type", "application/octet-stream")
	return conflicts(p.client.Call(ctx, client.Request{Method: http.MethodPut, Path: p.file(path), Header: header, Body: open, Length: size}, nil))
}

// Delete implements mirror.Remote. What is not there any more is deleted.
func (p projectFiles) Delete(ctx context.Context, path, match string) error {
	err := p.client.Call(ctx, client.Request{Method: http.MethodDelete, Path: p.file(path), Header: condition(match)}, nil)
	if client.Is(err, fault.ItemNotFound) {
		return nil
	}
	return conflicts(err)
}

// Move implements mirror.Remote.
func (p projectFiles) Move(ctx context.Context, from, to, match string) error {
	body := map[string]string{"from": p.at.path + from, "to": p.at.path + to}
	return conflicts(p.client.Call(ctx, client.Request{Path: "/projects/" + p.at.slug + "/move", Header: condition(match), JSON: body}, nil))
}

// condition is what a file must be for a change of it.
func condition(match string) http.Header {
	if match == "" {
		return http.Header{"If-None-Match": {"*"}}
	}
	return http.Header{"If-Match": {match}}
}

// conflicts finds the refusal that means that somebody else was faster, and what they made of the file.
func conflicts(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Type != fault.VersionConflict {
		return err
	}
	var meta struct{ Version string }
	_ = json.Unmarshal(e.Meta, &meta) // what is not told is no content
	return mirror.Conflict{Now: meta.Version}
}

// syncing is a folder that becomes a project's.
type syncing struct {
	*verb
	remove, dryRun *bool
	exclude        *[]string
	json           *bool
}

func (h house) projectsSync() *cobra.Command {
	v := h.verb("sync FOLDER PROJECT[/PATH]", "Make a project's files those of a folder",
		`Send the files of a folder to a project, or below a path of it: those that are new or differ, several at once. With --delete, files that the folder does not have are deleted there, and one that only changed its name is moved.

What somebody else changes meanwhile is left as it is, told, and makes the exit code 1. Symbolic links are refused, as is everything that is no file: nothing is sent then.

Each thing that is done is a line: put, move or delete.`,
		`  svc projects sync ./site docs
  svc projects sync ./site docs/site --delete --dry-run
  svc projects sync . code --exclude .git --exclude '*.tmp'`, command.Args(2, 2, "FOLDER", "PROJECT"))
	s := syncing{verb: v}
	s.remove = v.Flags().Bool("delete", false, "delete what the folder does not have")
	s.dryRun = v.Flags().Bool("dry-run", false, "only say what would be done")
	s.exclude = v.Flags().StringArray("exclude", nil, "a pattern for names or paths that are left alone on both sides (may be repeated)")
	s.json = command.JSONFlag(v.Command)
	return v.does(s.run)
}

// steady is how long a file waits for its turn: a service lets nobody send a thousand in a moment.
const steady = 5 * time.Minute

// atOnce is how many files are sent at a time.
const atOnce = 8

// synced is what was done, for machines.
type synced struct {
	DryRun    bool   `json:"dryRun"`
	Actions   []deed `json:"actions"`
	Unchanged int    `json:"unchanged"`
	Failed    int    `json:"failed"`
}

type deed struct {
	mirror.Act
	Error string `json:"error,omitempty"`
}

func (s syncing) run(c *contact, args []string) error {
	a, err := parseAddress(args[1])
	if err != nil {
		return err
	}
	space, err := c.product()
	if err != nil {
		return err
	}
	if a.path != "" {
		a.path = strings.TrimSuffix(a.path, "/") + "/"
	}
	folder, err := mirror.OpenFolder(args[0], *s.exclude)
	if err != nil {
		return command.Usage(err)
	}
	defer folder.Close()
	patient, err := c.client(s.house, spaceOf(c.profile.BaseURL), steady)
	if err != nil {
		return err
	}
	// Whoever asks a service that is not there learns it soon.
	acts, unchanged, err := s.plan(folder, projectFiles{space, a, folder.Excluded})
	if err != nil {
		return address{slug: a.slug}.missing(c, err)
	}
	return s.perform(c, folder, projectFiles{patient, a, folder.Excluded}, acts, synced{DryRun: *s.dryRun, Actions: []deed{}, Unchanged: unchanged})
}

func (s syncing) plan(folder *mirror.Folder, remote mirror.Remote) (acts []mirror.Act, unchanged int, err error) {
	local, err := folder.Files(s.Context())
	if err != nil {
		return nil, 0, err
	}
	there, err := remote.List(s.Context())
	if err != nil {
		return nil, 0, err
	}
	if acts, err = mirror.Plan(local, there, *s.remove); err != nil {
		return nil, 0, err
	}
	unchanged = len(local)
	for _, act := range acts {
		if act.Kind != mirror.Delete {
			unchanged--
		}
	}
	return acts, unchanged, nil
}

func (s syncing) perform(c *contact, folder *mirror.Folder, remote mirror.Remote, acts []mirror.Act, out synced) error {
	said := s.OutOrStdout()
	if *s.json {
		said = io.Discard
	}
	progress := screen.NewProgress(s.ErrOrStderr())
	c.say = func(text string) { progress.Show("%s", text) }
	tell := func(act mirror.Act, err error) {
		done := deed{Act: act}
		if err != nil {
			done.Error = c.explain(err).Error()
			progress.Say(s.ErrOrStderr(), screen.Line(act.Path+": "+done.Error))
		} else {
			progress.Say(said, screen.Line(act.String()))
		}
		out.Actions = append(out.Actions, done)
		progress.Show("%d of %d: %s", len(out.Actions), len(acts), act.Path)
	}
	if *s.dryRun {
		for _, act := range acts {
			tell(act, nil)
		}
	} else {
		out.Failed = mirror.Perform(s.Context(), folder, remote, acts, atOnce, tell)
	}
	progress.Done()
	return s.conclude(out, len(acts))
}

// conclude says what was done in all.
func (s syncing) conclude(out synced, planned int) error {
	var err error
	switch {
	case len(out.Actions) < planned:
		err = fmt.Errorf("%w: %d of %d were done", errInterrupted, len(out.Actions)-out.Failed, planned)
	case out.Failed > 0:
		err = fmt.Errorf("%d of %d could not be done", out.Failed, planned)
	}
	if *s.json {
		return errors.Join(command.Print(s.OutOrStdout(), out), err)
	}
	if err == nil {
		fmt.Fprintf(s.ErrOrStderr(), "%d changed, %d unchanged%s\n", planned, out.Unchanged, map[bool]string{true: " (nothing was done)"}[out.DryRun])
	}
	return err
}
