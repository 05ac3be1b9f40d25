package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/database"
)

// Restored is what a folder was made of.
type Restored struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Database string    `json:"database"`
	Keys     bool      `json:"keys"`
	Folder   string    `json:"folder"`
	Files    int64     `json:"files"`
	Bytes    int64     `json:"bytes"`
	Todo     []string  `json:"todo,omitempty"` // what is left to the operator
}

// Restoring is how far a restore is.
type Restoring struct {
	Proving bool // archives are read; else files are written
	Done    int64
	Of      int64 // 0: it is not known
}

// Restore makes a folder of a chain of backups. The folder must not be there, or be empty. Archives are read whole before anything
// is written; while files are written the folder is marked, so that nothing starts on it, and the mark goes when all of it is
// proven and durable.
func Restore(ctx context.Context, archives []archive.Opener, folder string, tell func(Restoring)) (r Restored, err error) {
	if err := refuseUsed(folder); err != nil {
		return r, err
	}
	chain, err := archive.Prove(ctx, archives, func(read int64) { tell(Restoring{Proving: true, Done: read}) })
	if err != nil {
		return r, err
	}
	point, err := pointOf(chain)
	if err != nil {
		return r, err
	}
	r = Restored{ID: chain.ID, At: chain.At, Database: point.Database, Keys: point.Keys, Folder: folder, Files: chain.Files, Bytes: chain.Bytes}
	if err := mark(folder); err != nil {
		return r, err
	}
	if err := chain.Extract(ctx, folder, func(n int64) { tell(Restoring{Done: n, Of: chain.Bytes}) }); err != nil {
		return r, err
	}
	if r.Todo, err = setAside(folder); err != nil {
		return r, err
	}
	r.Todo = append(todo(point, folder), r.Todo...)
	if err := check(ctx, point, folder); err != nil {
		return r, err
	}
	return r, unmark(folder)
}

// refuseUsed refuses a folder that holds anything but what keeps folders in an image.
func refuseUsed(folder string) error {
	used, err := isUsed(folder)
	if err != nil || !used {
		return err
	}
	if _, err := os.Lstat(filepath.Join(folder, sqldb.Restoring)); err == nil {
		return &sqldb.UnfinishedError{Path: folder}
	}
	return fmt.Errorf("%s is not empty: a backup is restored into an empty folder, or one that is not there", folder)
}

// keeper is the name of an empty file that keeps a folder in an image: the volume of one begins with some.
const keeper = ".keep"

// isUsed reports whether a folder, or one below it, holds a file other than empty keepers.
func isUsed(folder string) (used bool, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if path == "." && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if used = d.Name() != keeper || !info.Mode().IsRegular() || info.Size() > 0; used {
			return fs.SkipAll
		}
		return nil
	})
	return used, err
}

// pointOf reads what a chain holds, and refuses tables that this binary does not know.
func pointOf(c *archive.Chain) (p Point, err error) {
	if err := json.Unmarshal(c.About, &p); err != nil || p.Database == "" {
		return p, errors.New("the archive does not say what it holds: it is no backup of a service")
	}
	if p.Database == "workspace" {
		return p, errors.New("the archive is an export of a workspace: svc import takes it into a service that runs")
	}
	known, err := database.Known(sqldb.Dialect(p.Database))
	if err != nil {
		return p, err
	}
	for _, room := range p.Rooms {
		if room.Database > known[room.Room] {
			return p, fmt.Errorf("the backup is of a newer svc: %w: restore it with that svc, or a newer one",
				&sqldb.NewerError{Room: room.Room, Database: room.Database, Binary: known[room.Room]})
		}
	}
	return p, nil
}

// mark makes the folder, and says in it that it is not whole.
func mark(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, sqldb.Restoring), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("A backup is being restored here. While this file is there the folder is not whole, and svc does not start on it.\n")
	return errors.Join(err, f.Sync(), f.Close(), sqldb.SyncDir(folder), sqldb.SyncDir(filepath.Dir(filepath.Clean(folder))))
}

func unmark(folder string) error {
	if err := os.Remove(filepath.Join(folder, sqldb.Restoring)); err != nil {
		return err
	}
	return sqldb.SyncDir(folder)
}

// elsewhere are the settings that lead out of a data folder.
var elsewhere = []string{"data_dir", "files_dir", "database", "keys.file", "admin_socket"}

// setAside renames a configuration that names other places than the folder: a service that started with it would work on the data
// that the backup is of, not on the restored.
func setAside(folder string) (todo []string, err error) {
	path := filepath.Join(folder, configFile)
	var tree map[string]any
	_, err = toml.DecodeFile(path, &tree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !leadsElsewhere(tree) {
		return nil, nil
	}
	if err := os.Rename(path, path+".restored"); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("%s.restored is the configuration of the backup: it names places outside of this folder; look at them, and then rename it to %s", path, configFile)}, nil
}

func leadsElsewhere(tree map[string]any) bool {
	keys, _ := tree["keys"].(map[string]any)
	if _, named := keys["file"]; named {
		return true
	}
	for _, key := range elsewhere {
		if _, named := tree[key]; named {
			return true
		}
	}
	return false
}

// todo is what a restore cannot do itself.
func todo(p Point, folder string) (steps []string) {
	if p.Database == "postgres" {
		steps = append(steps, "restore the database with pg_restore, from the dump that was made before this backup, or to a time before "+p.At.Format(time.RFC3339)+"; then give its address with --database")
	}
	if !p.Keys {
		steps = append(steps, "put the key ring that belonged to this service at "+filepath.Join(folder, keysFile)+", mode 0600, or give it as SVC_KEYS: without it no secret opens, and the service does not start")
	}
	return steps
}

// check looks at the database as a start would.
func check(ctx context.Context, p Point, folder string) error {
	if p.Database != "sqlite" {
		return nil
	}
	copied, err := sqldb.OpenCopy(filepath.Join(folder, databaseFile))
	if err != nil {
		return err
	}
	defer copied.Close()
	if err := copied.Check(ctx); err != nil {
		return err
	}
	_, err = database.Versions(ctx, copied)
	return err
}
