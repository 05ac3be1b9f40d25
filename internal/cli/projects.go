package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/client"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// address is a project, and a path in it, as people type them: PROJECT/PATH.
type address struct {
	slug string
	path string // empty: all of it; one that ends with a slash is a folder's
}

var slugRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parseAddress reads what somebody typed. A path is taken as it is; the service says what it thinks of names.
func parseAddress(text string) (a address, err error) {
	a.slug, a.path, _ = strings.Cut(text, "/")
	if !slugRule.MatchString(a.slug) {
		return address{}, command.Usagef("%q does not begin with the name of a project", text)
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(a.path, "/"), "/") {
		if a.path != "" && (segment == "" || segment == "." || segment == "..") {
			return address{}, command.Usagef("%q has a segment that is no name", text)
		}
	}
	return a, nil
}

// files is where the files of the project are, or the one that the path names.
func (a address) files() string {
	at := "/projects/" + a.slug + "/files"
	if a.path == "" {
		return at
	}
	for segment := range strings.SplitSeq(a.path, "/") {
		at += "/" + escaped(segment)
	}
	return at
}

// isFile refuses an address that names no file.
func (a address) isFile() error {
	if a.path == "" || strings.HasSuffix(a.path, "/") {
		return command.Usagef("%s/%s is not the path of a file", a.slug, a.path)
	}
	return nil
}

// missing says what is not there, and how a project comes to be.
func (a address) missing(c *contact, err error) error {
	if !client.Is(err, fault.ItemNotFound) {
		return err
	}
	return fmt.Errorf("%s: %w (svc projects ls shows what there is, svc projects create %s makes the project)", a, c.explain(err), a.slug)
}

func (a address) String() string { return strings.TrimSuffix(a.slug+"/"+a.path, "/") }

func (h house) projectsLs() *cobra.Command {
	v := h.verb("ls [PROJECT[/PATH]]", "List projects, or the files of one",
		`List the projects of a workspace; with PROJECT its files and folders, with a path those that lie there.`,
		`  svc projects ls
  svc projects ls docs/guides
  svc projects ls docs --recursive --limit 0 --json`, command.Args(0, 1))
	v.ValidArgsFunction = v.completeProjects
	recursive := v.Flags().BoolP("recursive", "r", false, "list all files below, and no folders")
	most := addLimit(v.Command)
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		space, err := c.product()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			all, err := list(v.Context(), space, "/projects", nil, *most)
			if err != nil {
				return err
			}
			return showProjects(answer, all)
		}
		a, err := parseAddress(args[0])
		if err != nil {
			return err
		}
		all, err := list(v.Context(), space, address{slug: a.slug}.files(), a.query(*recursive), *most)
		if err != nil {
			return address{slug: a.slug}.missing(c, err)
		}
		return showFiles(answer, all)
	})
}

func (h house) projectsCreate() *cobra.Command {
	v := h.verb("create PROJECT", "Make a project",
		`Make a project, in which files are kept from then on. PROJECT is what it is called in addresses: small letters, digits and hyphens, at most 64. It is taken by one alone: the exit code is 1 if there is one.`,
		`  svc projects create docs
  svc projects create docs --name "Our documents" --description "What we wrote"`, command.Args(1, 1, "PROJECT"))
	v.ValidArgsFunction = cobra.NoFileCompletions
	name := v.Flags().String("name", "", "what people call it (default PROJECT)")
	description := v.Flags().String("description", "", "what it is for")
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, args []string) error {
		if a, err := parseAddress(args[0]); err != nil || a.path != "" || len(a.slug) > 64 {
			return command.Usagef("%q cannot be the name of a project: it has small letters, digits and hyphens, at most 64", args[0])
		}
		space, err := c.product()
		if err != nil {
			return err
		}
		draft := map[string]string{"slug": args[0]}
		for field, value := range map[string]string{"name": *name, "description": *description} {
			if value != "" {
				draft[field] = value
			}
		}
		var made json.RawMessage
		if err := space.Call(v.Context(), client.Request{Path: "/projects", JSON: draft}, &made); err != nil {
			return err
		}
		return answer(made, func(w io.Writer) {
			fmt.Fprintf(w, "Made %s. Put files into it with\n  svc projects put FILE %s/\n", args[0], args[0])
		})
	})
}

// query asks for what lies at the path. A folder is meant whether it was typed with its slash or not.
func (a address) query(recursive bool) url.Values {
	query := url.Values{}
	if a.path != "" {
		query.Set("prefix", strings.TrimSuffix(a.path, "/")+"/")
	}
	if !recursive {
		query.Set("folded", "true")
	}
	return query
}

func showProjects(answer func(any, func(io.Writer)) error, all found) error {
	projects, err := decoded[struct {
		Slug, Name, Description string
		Bytes, FileCount        int64
	}](all.Items)
	if err != nil {
		return err
	}
	return answer(all, func(w io.Writer) {
		rows := make([][]string, len(projects))
		for i, p := range projects {
			rows[i] = []string{p.Slug, fmt.Sprint(p.FileCount), screen.Bytes(p.Bytes), screen.Cut(p.Name, 60)}
		}
		screen.Table(w, []string{"PROJECT", "FILES", "SIZE", "NAME"}, rows)
		sayMore(w, all)
	})
}

func showFiles(answer func(any, func(io.Writer)) error, all found) error {
	files, err := decoded[struct {
		Path, Kind string
		Bytes      int64
		UpdatedAt  time.Time
	}](all.Items)
	if err != nil {
		return err
	}
	return answer(all, func(w io.Writer) {
		rows := make([][]string, len(files))
		for i, f := range files {
			rows[i] = []string{screen.Bytes(f.Bytes), shownTime(f.UpdatedAt), f.Path}
			if f.Kind == "folder" {
				rows[i] = []string{"", "", f.Path + "/"}
			}
		}
		screen.Table(w, []string{"SIZE", "CHANGED", "PATH"}, rows)
		sayMore(w, all)
	})
}

// completeProjects offers projects.
func (v *verb) completeProjects(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, directive := v.offer(named("/projects"), typed)
	return names, directive | cobra.ShellCompDirectiveNoSpace
}
