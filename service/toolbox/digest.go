package toolbox

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/project"
)

// DigestName is the name of the workflow that every workspace can run.
const DigestName = "digest"

// Bounds of a digest.
const (
	maxDigested = 100      // files
	maxOpened   = 1000     // files that are looked at
	maxRead     = 16 << 10 // bytes of each that are summed up
)

// digesting is what a digest is made of.
type digesting struct {
	Project string `json:"project" jsonschema:"The project's slug."`
	Prefix  string `json:"prefix,omitempty" jsonschema:"How the paths begin of the files to sum up. All of them if not said."`
	Into    string `json:"into,omitempty" jsonschema:"The path of the file that is written. digest.md if not said."`
}

// Digested is what a digest came to.
type Digested struct {
	Files int    `json:"files"`
	Into  string `json:"into"`
}

// Digest is the workflow that sums up the files of a project: each is read by a step and summed up by a prompt, and the last step
// writes what came of it. It does what the one who started the run may.
func (b *Box) Digest(model func(ctx context.Context, scope string) (string, error)) *svc.Workflow {
	w := svc.NewWorkflow(DigestName, func(ctx context.Context, w *svc.Work, in digesting) (Digested, error) {
		// Kept, as all that a run finds out: what is read anew each time may fail a run that has come far.
		name, err := svc.Step(ctx, w, "choose model", func(ctx context.Context) (string, error) {
			name, err := model(ctx, w.Scope())
			return name, hand{Box: b}.told(ctx, DigestName, err)
		})
		if err != nil {
			return Digested{}, err
		}
		return b.digest(ctx, w, &svc.Agent{
			Name: DigestName, Model: name, Description: "Sums up files.",
			Instructions: "You sum up files. Answer with three sentences at most on what the file holds, and with nothing else.",
		}, in)
	})
	w.Description = "Sum up the text files of a project, and write the digest into a file of it."
	w.Route, w.Runs = svc.Open, svc.Open
	return w
}

func (b *Box) digest(ctx context.Context, w *svc.Work, agent *svc.Agent, in digesting) (Digested, error) {
	if in.Into == "" {
		in.Into = "digest.md"
	}
	if err := project.CheckPath(in.Into); err != nil {
		return Digested{}, err
	}
	by, err := w.StartedBy(ctx)
	if err != nil {
		return Digested{}, err
	}
	h := hand{Box: b, scope: w.Scope(), grant: Grant{Agent: DigestName, Projects: []string{in.Project}}}
	within := func(ctx context.Context) context.Context {
		return svc.WithCall(ctx, svc.Call{Scope: w.Scope(), Agent: DigestName, Instance: w.RunID(), By: by})
	}
	paths, err := svc.Step(ctx, w, "list files", func(ctx context.Context) ([]string, error) {
		all, err := h.digestible(within(ctx), in)
		return all, h.told(ctx, DigestName, err)
	})
	if err != nil {
		return Digested{}, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Digest of %s\n", in.Project)
	for _, path := range paths {
		piece, err := svc.Step(ctx, w, "read "+path, func(ctx context.Context) (string, error) {
			piece, err := h.beginning(within(ctx), in.Project, path)
			return piece, h.told(ctx, DigestName, err)
		})
		if err != nil {
			return Digested{}, err
		}
		answer, err := svc.Ask(ctx, w, agent, fmt.Sprintf("Sum up the file %s:\n\n%s", path, piece))
		if err != nil {
			return Digested{}, err
		}
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", path, strings.TrimSpace(answer.Text))
	}
	_, err = svc.Step(ctx, w, "write "+in.Into, func(ctx context.Context) (int64, error) {
		bytes, err := h.put(within(ctx), in, text.String())
		return bytes, h.told(ctx, DigestName, err)
	})
	return Digested{len(paths), in.Into}, err
}

// digestible are the paths of the files to sum up: texts, without the digest itself.
func (h hand) digestible(ctx context.Context, in digesting) ([]string, error) {
	at, err := h.enter(ctx, readsProjects, in.Project)
	if err != nil {
		return nil, noProject(err, in.Project)
	}
	paths, opened := []string{}, 0
	q := project.FileQuery{Prefix: in.Prefix, Query: listing.Query{Limit: listing.MaxLimit}}
	for {
		page, err := h.config.Projects.Files(ctx, at.Owner, at.slug, q)
		if err != nil {
			return nil, noProject(err, in.Project)
		}
		for _, f := range page.Items {
			if opened++; opened > maxOpened {
				return nil, fault.Invalid("There are more than %d files: name a prefix.", maxOpened)
			}
			text, err := h.isText(ctx, at, f)
			if err != nil {
				return nil, err
			}
			if text && f.Path != in.Into {
				paths = append(paths, f.Path)
			}
			if len(paths) > maxDigested {
				return nil, fault.Invalid("There are more than %d text files: name a prefix.", maxDigested)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return paths, nil
		}
	}
}

// noProject names the project that is not there.
func noProject(err error, slug string) error {
	if fault.Is(err, fault.ItemNotFound) {
		return fault.New(fault.ItemNotFound, fmt.Sprintf("There is no project named %q.", cut(slug, 100)), "")
	}
	return err
}

// isText reports whether a file is a text that is there.
func (h hand) isText(ctx context.Context, at place, f project.File) (bool, error) {
	content, err := h.config.Projects.Open(ctx, at.Owner, at.slug, f.Path)
	if err == nil {
		defer content.Close()
		_, err = textOf(content)
	}
	if fault.Is(err, fault.ItemNotFound) || fault.Is(err, fault.InvalidPath) || fault.Is(err, fault.InvalidRequest) {
		return false, nil
	}
	return err == nil, err
}

// beginning is as much of a file as is summed up.
func (h hand) beginning(ctx context.Context, slug, path string) (string, error) {
	at, err := h.enter(ctx, readsProjects, slug)
	if err != nil {
		return "", err
	}
	content, err := h.config.Projects.Open(ctx, at.Owner, at.slug, path)
	if err != nil {
		return "", err
	}
	defer content.Close()
	r, err := textOf(content)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for l, err := range linesOf(ctx, r) {
		if err != nil {
			return "", err
		}
		if text.Len()+len(l.text) > maxRead {
			break
		}
		text.WriteString(l.shown())
		text.WriteByte('\n')
	}
	return text.String(), nil
}

// put writes the digest.
func (h hand) put(ctx context.Context, in digesting, text string) (int64, error) {
	at, err := h.enter(ctx, writesProjects, in.Project)
	if err != nil {
		return 0, err
	}
	f, _, err := h.store(ctx, at, in.Into, text, project.Condition{})
	return f.Bytes, err
}
