package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// Put keeps bytes: as a file beside a SQLite database, so that a large one does not stall the writer, and as rows on
// PostgreSQL, so that every node has them.
func (s *Store) Put(ctx context.Context, scope string, r io.Reader) (svc.Blob, error) {
	var b svc.Blob
	var err error
	if s.db.Dialect() == sqldb.Postgres {
		b, err = s.putRows(ctx, scope, r)
	} else {
		b, err = s.putFile(scope, r)
	}
	if err != nil {
		return svc.Blob{}, fmt.Errorf("put blob: %w", err)
	}
	return b, nil
}

// Get opens an attachment of a stream.
func (s *Store) Get(ctx context.Context, a svc.Stream, attachment string) (svc.Attachment, io.ReadCloser, error) {
	if s.db.Dialect() == sqldb.Postgres && (!storableStream(a) || !storable(attachment)) {
		return svc.Attachment{}, nil, svc.ErrNotFound
	}
	at := svc.Attachment{ID: attachment}
	err := s.read(ctx, "get attachment", func(tx *sqldb.Tx) error {
		return tx.QueryRow(`
SELECT b.sha256, b.size, b.mime, b.filename FROM blobs b JOIN streams t ON t.id = b.stream
WHERE t.scope = $1 AND t.kind = $2 AND t.name = $3 AND t.instance = $4 AND NOT t.dropped AND b.attachment = $5`,
			a.Scope, string(a.Kind), a.Name, a.ID, attachment).Scan(&at.Blob.SHA256, &at.Blob.Size, &at.MimeType, &at.Filename)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return svc.Attachment{}, nil, svc.ErrNotFound
	}
	if err != nil {
		return svc.Attachment{}, nil, err
	}
	body, err := s.openBlob(ctx, a.Scope, at.Blob)
	return at, body, err
}

func (s *Store) openBlob(ctx context.Context, scope string, b svc.Blob) (io.ReadCloser, error) {
	if s.db.Dialect() == sqldb.Postgres {
		c := &chunks{ctx: ctx, store: s, scope: scope, blob: b}
		return c, c.next()
	}
	f, err := os.Open(s.blobPath(scope, b.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, svc.ErrNotFound
	}
	return f, err
}

// blobPath keeps scopes apart by a hash of their name: a scope holds slashes.
func (s *Store) blobPath(scope, name string) string {
	return filepath.Join(blobFolder(s.db, scope), name)
}

func blobFolder(db *sqldb.DB, scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return db.Folder().Path("blobs", hex.EncodeToString(sum[:16]))
}

// putFile writes, syncs and renames, so that a name never stands for half the bytes.
func (s *Store) putFile(scope string, r io.Reader) (b svc.Blob, err error) {
	dir := filepath.Dir(s.blobPath(scope, "x"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, err
	}
	f, err := os.CreateTemp(dir, "incoming-")
	if err != nil {
		return b, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum := sha256.New()
	if b.Size, err = io.Copy(io.MultiWriter(f, sum), r); err != nil {
		return svc.Blob{}, err
	}
	if err := f.Sync(); err != nil {
		return svc.Blob{}, err
	}
	b.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := os.Rename(f.Name(), s.blobPath(scope, b.SHA256)); err != nil {
		return svc.Blob{}, err
	}
	return b, syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

const chunkBytes = 256 << 10

// putRows writes chunks under a name of their own and gives them the right one at the end, when the hash is known.
func (s *Store) putRows(ctx context.Context, scope string, r io.Reader) (svc.Blob, error) {
	var b svc.Blob
	err := pgx.BeginFunc(ctx, s.db.Pool(), func(tx pgx.Tx) error {
		b = svc.Blob{}
		incoming := "incoming-" + rand.Text()
		sum := sha256.New()
		buf := make([]byte, chunkBytes)
		for n := 0; ; n++ {
			size, err := io.ReadFull(r, buf)
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return err
			}
			sum.Write(buf[:size])
			b.Size += int64(size)
			if size > 0 || n == 0 {
				_, err := tx.Exec(ctx, `INSERT INTO blob_chunks (scope, sha256, n, at, data) VALUES ($1, $2, $3, COALESCE($4::bigint, `+postgresNow+`), $5)`,
					scope, incoming, n, s.clock(), buf[:size])
				if err != nil {
					return err
				}
			}
			if err != nil {
				break
			}
		}
		b.SHA256 = hex.EncodeToString(sum.Sum(nil))
		// The same bytes again: the ones before make room, so that what was put last is as young as it looks.
		if _, err := tx.Exec(ctx, `DELETE FROM blob_chunks WHERE scope = $1 AND sha256 = $2`, scope, b.SHA256); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE blob_chunks SET sha256 = $3 WHERE scope = $1 AND sha256 = $2`, scope, incoming, b.SHA256)
		return err
	})
	return b, err
}

// chunks reads a blob row by row.
type chunks struct {
	ctx   context.Context
	store *Store
	scope string
	blob  svc.Blob
	n     int
	rest  []byte
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		err := c.next()
		if errors.Is(err, svc.ErrNotFound) || err == nil && len(c.rest) == 0 {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *chunks) next() error {
	err := c.store.db.Pool().QueryRow(c.ctx, `SELECT data FROM blob_chunks WHERE scope = $1 AND sha256 = $2 AND n = $3`,
		c.scope, c.blob.SHA256, c.n).Scan(&c.rest)
	if errors.Is(err, pgx.ErrNoRows) {
		return svc.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("read blob: %w", err)
	}
	c.n++
	return nil
}

func (c *chunks) Close() error { return nil }

// blobAge is how long bytes may lie without a stream that refers to them.
const blobAge = 24 * time.Hour
