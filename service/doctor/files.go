package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/toolbox"
)

// lookAtFiles judges the folder of project files, which several nodes must share.
func (d *doctor) lookAtFiles() {
	path := d.config.FilesDir
	if !d.faces() || d.findFolder("files", path) == nil {
		return // a runtime alone has no files
	}
	if err := tryRename(path); err != nil {
		d.add("files folder", fail(err.Error(), "let this user write, rename and delete in the folder: chown -R, and a mount that is not read-only"))
		return
	}
	if other := otherDevice(path); other != "" {
		d.add("files folder", fail(other+" lies on another file system than "+path+", so that files cannot be renamed into it", "keep the whole folder on one file system"))
		return
	}
	d.add("files folder", fine(path+" can be written in, and files renamed"))
	here, known := deviceOf(existing(d.config.DataDir))
	if there, ok := deviceOf(path); known && ok && here != there {
		d.add("files space", judgeSpace(path))
	}
	if database.IsPostgres(d.config.Database) {
		d.add("shared files", d.judgeSharing(path))
	}
}

// lookAtAgents reads the agents of every workspace as a node that starts does.
func (d *doctor) lookAtAgents(ctx context.Context) {
	works := slices.ContainsFunc(d.parts, func(p config.Part) bool { return p.Works })
	if d.config.AgentsDir == "" || !works {
		return
	}
	agents, wrong, err := agent.Examine(ctx, agent.Config{
		Folder: d.config.AgentsDir, Tools: toolNames,
		Models: func(_ context.Context, _, name string) error { return models.CheckName(name) },
	})
	d.add("agent files", judgeAgents(d.config.AgentsDir, agents, wrong, err))
}

func toolNames(context.Context, string) (names []string, _ error) {
	for _, e := range toolbox.Catalogue() {
		names = append(names, e.Name)
	}
	return names, nil
}

// mostNamed is how many files are named that are no agents.
const mostNamed = 10

func judgeAgents(folder string, agents int, wrong []agent.Wrong, err error) Finding {
	switch {
	case err != nil:
		return fail(err.Error(), "let agents_dir name a folder that this user can read, or none")
	case len(wrong) == 0:
		return fine(fmt.Sprintf("%s in %s", amount.Of(agents, "agent"), folder))
	}
	var texts []string
	for _, w := range wrong[:min(len(wrong), mostNamed)] {
		texts = append(texts, w.File+": "+w.Why)
	}
	if more := len(wrong) - mostNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return warn(strings.Join(texts, "; "), "mend the files; until then a node that starts goes without these agents")
}

// tryRename does what an upload does: a file is written, made durable and renamed into another folder; and then it is gone.
func tryRename(path string) error {
	room, err := os.MkdirTemp(path, ".svc-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(room)
	f, err := os.CreateTemp(path, ".svc-doctor-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("svc doctor\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	to := filepath.Join(room, "renamed")
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	text, err := os.ReadFile(to)
	if err == nil && string(text) != "svc doctor\n" {
		err = fmt.Errorf("%s: what was written is not what is read", path)
	}
	return err
}

// otherDevice is the first folder right below a path that lies on another file system; empty: there is none.
func otherDevice(path string) string {
	mine, ok := deviceOf(path)
	entries, err := os.ReadDir(path)
	if err != nil || !ok {
		return ""
	}
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		if its, ok := deviceOf(below); e.IsDir() && ok && its != mine {
			return below
		}
	}
	return ""
}

func deviceOf(path string) (uint64, bool) {
	var stat syscall.Stat_t
	err := syscall.Stat(path, &stat)
	return uint64(stat.Dev), err == nil
}

// judgeSharing compares the nodes that are connected to the database with those whose marks are in the folder.
func (d *doctor) judgeSharing(path string) Finding {
	const mend = "mount one file system at files_dir on every node, such as NFS, and let files_dir name it on each"
	mine := database.NodeIn(d.config.DataDir)
	others := slices.DeleteFunc(slices.Clone(d.present), func(p database.Presence) bool { return p.Node == mine || p.Part == config.RuntimeAlone.Name })
	if len(others) == 0 {
		return fine("no other node with files is connected to the database")
	}
	marks := readMarks(filepath.Join(path, marksFolder))
	var wrong []string
	for _, p := range others {
		if text := d.judgeMark(marks, p.Node, mine); text != "" {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		return fail(strings.Join(wrong, "; "), mend)
	}
	return fine(fmt.Sprintf("%d other nodes rename files in %s, and it is seen here", len(others), path))
}

// judgeMark says what is wrong with the mark of a node; empty: nothing is.
func (d *doctor) judgeMark(marks []mark, node, mine string) string {
	at := slices.IndexFunc(marks, func(m mark) bool { return m.Node == node })
	if at < 0 {
		return node + " works on this database, and nothing of it is in " + d.config.FilesDir
	}
	if age := d.now().Sub(marks[at].At); age.Abs() > markStale {
		return fmt.Sprintf("%s works on this database, and what it last wrote in %s is %s old", node, d.config.FilesDir, age.Round(time.Second))
	}
	// Whoever has just come is seen at the next round.
	here := slices.IndexFunc(marks, func(m mark) bool { return m.Node == mine })
	if here >= 0 && marks[here].sees(node) && !marks[at].sees(mine) && d.now().Sub(marks[at].At) < markEvery/2 {
		return node + " does not see what this node writes in " + d.config.FilesDir
	}
	return ""
}
