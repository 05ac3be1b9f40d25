package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/cli/hold"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
)

// backupOrder is what was typed after svc backup.
type backupOrder struct {
	wish     backup.Wish
	output   string
	since    string
	encrypt  string
	identity string
}

func newBackup() *cobra.Command {
	cmd := newVerb("backup", "Write everything that the service keeps to one file", `Write the database, the attachments, the files of projects, the key ring, the checkpoints of the audit log and svc.toml to one
file, all of them as they were at one moment. The service goes on meanwhile. The file is there whole, with the hash of every
part, or not at all; svc restore makes a data folder of it.

Without -o the file lies in backup.path, or in this folder, under the time. With --since LAST it carries only what is new since
that backup: keep the whole chain, and give all of it to svc restore. With --encrypt only the holder of the other key, or of the
passphrase, can read it.

On PostgreSQL the rows are not in the file: dump them first, with pg_dump --format=custom, or have a base backup and its WAL;
then take this backup of what lies outside the database.`,
		`  svc backup -o monday.backup
  svc backup --since monday.backup -o tuesday.backup
  svc backup --encrypt age1… -o - | ssh vault 'cat > svc.backup'`, "files")
	var q backupOrder
	cmd.Flags().StringVarP(&q.output, "output", "o", "", "the file to write, or - for the output")
	cmd.Flags().StringVar(&q.since, "since", "", "the backup to go on from")
	cmd.Flags().StringVar(&q.encrypt, "encrypt", "", "a public key of age (age1…), or a file with a passphrase")
	cmd.Flags().StringVar(&q.identity, "identity", "", "a file that opens --since: keys of age, or a passphrase")
	cmd.Flags().BoolVar(&q.wish.NoKeys, "no-keys", false, "leave out the key ring and svc.toml")
	asked := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.output == "-" && (*asked || config.IsTerminal(cmd.OutOrStdout())) {
			return command.Usagef("the backup itself goes to the output: give -o FILE, or send it on without --json")
		}
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		q.output = cmp.Or(q.output, filepath.Join(folderOf(c.BackupPath), "svc-"+time.Now().UTC().Format("20060102T150405Z")+".backup"))
		var made madeBackup
		err = asOperator(cmd, func(o operate.Operator) (err error) {
			made, err = takeBackup(cmd, o, q)
			return err
		})
		if old, ok := errors.AsType[*service.BehindError](err); ok {
			return fmt.Errorf("%w: make the backup with the version before, then migrate", old.Why)
		}
		if err != nil {
			return err
		}
		if *asked {
			return command.Print(cmd.OutOrStdout(), made)
		}
		printBackup(cmd.ErrOrStderr(), made)
		return nil
	}
	return cmd
}

// folderOf is where a new backup goes by itself.
func folderOf(path string) string {
	if stat, err := os.Stat(path); path != "" && err == nil && !stat.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// madeBackup is the answer of svc backup.
type madeBackup struct {
	File string `json:"file"`
	Size int64  `json:"size"` // of the file
	backup.Made
	Encrypted bool     `json:"encrypted"`
	Warnings  []string `json:"warnings,omitempty"`
}

// takeBackup writes a backup where it was asked for.
func takeBackup(cmd *cobra.Command, o operate.Operator, q backupOrder) (made madeBackup, err error) {
	base, err := baseOf(cmd.Context(), q)
	if err != nil {
		return made, err
	}
	made.Made, made.Size, err = archiveTo(cmd, q.output, q.encrypt, base, func(ctx context.Context, w io.Writer) error { return o.Backup(ctx, q.wish, w) })
	made.File, made.Encrypted = q.output, q.encrypt != ""
	made.Warnings = warnOfBackup(made.Made)
	return made, err
}

// archiveTo writes what a service sends as an archive, to a file or to the output, and says how large that is.
func archiveTo(cmd *cobra.Command, output, encrypt string, base backup.Base, send func(context.Context, io.Writer) error) (made backup.Made, size int64, err error) {
	show := showProgress(cmd)
	defer show.end()
	write := func(w io.Writer) error {
		counted := &counter{to: w}
		made, err = encryptTo(counted, encrypt, func(w io.Writer) (backup.Made, error) {
			return streamTo(cmd.Context(), send, w, base, show)
		})
		size = counted.n
		return err
	}
	if output == "-" {
		return made, size, write(cmd.OutOrStdout())
	}
	return made, size, writeWhole(output, write)
}

func baseOf(ctx context.Context, q backupOrder) (base backup.Base, err error) {
	if q.since == "" {
		return base, nil
	}
	a, err := archivesOf([]string{q.since}, q.identity)
	if err != nil {
		return base, err
	}
	if base, err = backup.BaseOf(ctx, a[0]); err != nil {
		return base, fmt.Errorf("--since: %w", err)
	}
	return base, nil
}

// archivesOf are the backups in files, and what opens them.
func archivesOf(files []string, identity string) (all []archive.Opener, err error) {
	open, err := identities(identity)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		all = append(all, archive.FileOpener(file, open))
	}
	return all, nil
}

// streamTo makes an archive of what a service sends.
func streamTo(ctx context.Context, send func(context.Context, io.Writer) error, w io.Writer, base backup.Base, show *shownProgress) (backup.Made, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, sent := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := send(ctx, sent)
		sent.CloseWithError(cmp.Or(err, io.EOF))
		ended <- err
	}()
	made, err := backup.Make(ctx, r, w, base, show.backup)
	if err != nil {
		cancel()
		r.CloseWithError(err)
		<-ended
		return made, err
	}
	return made, <-ended
}

// encryptTo lets write write for a recipient alone; empty: for everybody.
func encryptTo(w io.Writer, recipient string, write func(io.Writer) (backup.Made, error)) (made backup.Made, err error) {
	if recipient == "" {
		return write(w)
	}
	to, err := archive.Recipient(recipient)
	if err != nil {
		return made, fmt.Errorf("--encrypt: %w", err)
	}
	closed, err := archive.Encrypted(w, to)
	if err != nil {
		return made, err
	}
	if made, err = write(closed); err != nil {
		return made, err
	}
	return made, closed.Close()
}

// writeWhole writes a file that is there whole and durable, or not at all. It takes nobody's place.
func writeWhole(path string, write func(io.Writer) error) error {
	part, err := holdPart(path)
	if err != nil {
		return err
	}
	defer part.Close() // a second time where all goes well
	err = errors.Join(write(part), part.Sync())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, ignoreGone(os.Remove(part.Name())))
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(part.Close(), folder.Sync(), folder.Close())
}

// holdPart opens what a file grows in, empty and held until it is closed. It refuses a path that another command writes to, or has written.
func holdPart(path string) (_ *os.File, err error) {
	part, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			part.Close()
		}
	}()
	err = hold.Try(part)
	if errors.Is(err, hold.ErrHeld) || err == nil && !isAt(part, part.Name()) {
		return nil, fmt.Errorf("another command writes %s: wait for its end, or choose another file", path)
	}
	if err != nil {
		return nil, err
	}
	// The holder before may have finished just now.
	if _, err := os.Lstat(path); err == nil {
		return nil, errors.Join(fmt.Errorf("%s is there already", path), os.Remove(part.Name()))
	}
	return part, part.Truncate(0)
}

// isAt reports whether a path leads to an open file: it may have been renamed before it was held.
func isAt(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(is, at)
}

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// warnOfBackup is what an operator must know of a backup.
func warnOfBackup(m backup.Made) (all []string) {
	if !m.Keys {
		all = append(all, "the key ring is not in this backup: without it no secret opens, and a service that is restored does not start; keep the ring elsewhere")
	}
	if m.Database == "postgres" {
		all = append(all, "the rows of PostgreSQL are not in this backup: it belongs to a dump that was made before it (pg_dump --format=custom), or to a base backup that is recovered to a time before "+m.At.Format(time.RFC3339))
	}
	if m.Misses > 0 {
		all = append(all, fmt.Sprintf("%s that the database names are not on disk, such as %s", amount.Of(m.Misses, "file"), m.Missing[0]))
	}
	if m.Changed > 0 {
		all = append(all, fmt.Sprintf("%s are not what the database says: somebody else has written them", amount.Of(m.Changed, "file")))
	}
	return all
}

func printBackup(w io.Writer, m madeBackup) {
	fmt.Fprintf(w, "%s: %s, %s in %s as of %s", m.File, m.ID, screen.Bytes(m.Bytes), amount.Of(m.Files, "file"), m.At.Format(time.RFC3339))
	if m.Since != "" {
		fmt.Fprintf(w, ", %s of it new since %s", screen.Bytes(m.Carried), m.Since)
	}
	fmt.Fprintf(w, "; the backup has %s\n", screen.Bytes(m.Size))
	for _, text := range m.Warnings {
		fmt.Fprintln(w, "warning: "+text)
	}
}

// shownProgress tells how far a backup or a restore is: on a terminal in one line, else in a line now and then.
type shownProgress struct {
	live *screen.Progress // nil: it is no terminal
	w    io.Writer
	said string
	at   time.Time
}

// sayEvery is how often a line is written where nobody sees one change.
const sayEvery = 10 * time.Second

func showProgress(cmd *cobra.Command) *shownProgress {
	s := &shownProgress{w: cmd.ErrOrStderr()}
	if screen.IsTerminal(s.w) {
		s.live = screen.NewProgress(s.w)
	}
	return s
}

func (s *shownProgress) backup(p backup.Progress) {
	if p.Copying {
		s.show("copying the database", p.Done, p.Of)
		return
	}
	s.show("writing", p.Done, p.Of)
}

func (s *shownProgress) show(what string, done, of int64) {
	text := what + ": " + screen.Bytes(done)
	if of > 0 {
		text += " of " + screen.Bytes(of)
	}
	switch {
	case s.live != nil:
		s.live.Show("%s", text)
	case what != s.said || time.Since(s.at) > sayEvery:
		s.said, s.at = what, time.Now()
		fmt.Fprintln(s.w, text)
	}
}

func (s *shownProgress) end() {
	if s.live != nil {
		s.live.Done()
	}
}
