package toolbox

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
)

type writing struct {
	Project string `json:"project" jsonschema:"The project's slug."`
	Path    string `json:"path" jsonschema:"The file's path in the project. Folders come with it."`
	Content string `json:"content" jsonschema:"All that the file shall hold."`
}

func (h hand) writeFile() svc.Tool {
	return define(h, "write_file", "Make a file of a project, or replace all that it holds.", fileTime,
		func(ctx context.Context, in writing) (string, error) {
			at, err := h.enter(ctx, writesProjects, in.Project)
			if err != nil {
				return "", err
			}
			f, created, err := h.store(ctx, at, in.Path, in.Content, project.Condition{})
			if err != nil {
				return "", err
			}
			if created {
				return fmt.Sprintf("Made %s, %d bytes.", f.Path, f.Bytes), nil
			}
			return fmt.Sprintf("Replaced %s, now %d bytes.", f.Path, f.Bytes), nil
		})
}

// store writes a file in the name of the one who prompted, who is judged again in the transactions that do it.
func (h hand) store(ctx context.Context, at place, path, text string, when project.Condition) (project.File, bool, error) {
	if len(text) > maxText {
		return project.File{}, false, fault.Invalid("At most %d bytes can be written at once.", maxText)
	}
	return h.config.Projects.Write(at.Guard(ctx), at.Actor, at.Owner, at.slug, path, project.Upload{
		Body: strings.NewReader(text), Size: int64(len(text)), Agent: at.agent, Condition: when,
	})
}

type editing struct {
	Project string `json:"project" jsonschema:"The project's slug."`
	Path    string `json:"path" jsonschema:"The file's path in the project."`
	Old     string `json:"old" jsonschema:"The text to be replaced, exactly as it stands in the file, without line numbers."`
	New     string `json:"new" jsonschema:"What takes its place."`
	All     bool   `json:"all,omitempty" jsonschema:"Replace it wherever it stands; else it must stand there once."`
}

func (h hand) editFile() svc.Tool {
	return define(h, "edit_file", "Replace a piece of a text file of a project by another. The piece must stand in the file exactly once.", fileTime,
		func(ctx context.Context, in editing) (string, error) {
			at, err := h.enter(ctx, writesProjects, in.Project)
			if err != nil {
				return "", err
			}
			before, etag, err := h.load(ctx, at, in.Path)
			if err != nil {
				return "", err
			}
			after, places, err := in.apply(before)
			if err != nil {
				return "", err
			}
			// Whatever was changed since it was read is not overwritten.
			if _, _, err := h.store(ctx, at, in.Path, after, project.Condition{Match: etag}); err != nil {
				return "", err
			}
			first := 1 + strings.Count(before[:strings.Index(before, in.Old)], "\n")
			return fmt.Sprintf("Replaced in %s: %d, the first in line %d.", in.Path, places, first), nil
		})
}

// load is a text as it is, and the etag of that.
func (h hand) load(ctx context.Context, at place, path string) (text, etag string, err error) {
	f, err := h.config.Projects.Open(ctx, at.Owner, at.slug, path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	text, err = whole(f)
	return text, f.ETag, err
}

// apply is the text as it shall be.
func (in editing) apply(text string) (edited string, places int, err error) {
	if in.Old == "" {
		return "", 0, fault.Invalid("old is empty: write_file writes a whole file.")
	}
	places = strings.Count(text, in.Old)
	switch {
	case places == 0:
		return "", 0, fault.Invalid("old does not stand in the file. Read it again: white space counts.")
	case places > 1 && !in.All:
		return "", 0, fault.Invalid("old stands in the file %d times. Take more of what is around it, or set all.", places)
	case len(text)+places*(len(in.New)-len(in.Old)) > maxText:
		return "", 0, fault.Invalid("The file would have more than %d bytes.", maxText)
	}
	return strings.ReplaceAll(text, in.Old, in.New), places, nil
}
