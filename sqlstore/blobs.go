package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	put := either(s, blobs{s}.putFile, blobs{s}.putRows)
	b, err := put(ctx, scope, r)
	if err != nil {
		return svc.Blob{}, wrap("put blob", err)
	}
	return b, nil
}

// Get opens an attachment of a stream.
func (s *Store) Get(ctx context.Context, a svc.Stream, attachment string) (svc.Attachment, io.ReadCloser, error) {
	if !storableStream(a) || !sqldb.Storable(attachment) {
		return svc.Attachment{}, nil, svc.ErrNotFound
	}
	at, err := readRow(ctx, s, "get attachment", svc.ErrNotFound, func(at *svc.Attachment) []any {
		return []any{&at.ID, &at.Blob.SHA256, &at.Blob.Size, &at.MimeType, &at.Filename}
	}, `
SELECT b.attachment, b.sha256, b.size, b.mime, b.filename FROM blobs b JOIN streams t ON t.id = b.stream
WHERE t.scope = $1 AND t.kind = $2 AND t.name = $3 AND t.instance = $4 AND NOT t.dropped AND b.attachment = $5`,
		a.Scope, string(a.Kind), a.Name, a.ID, attachment)
	if err != nil {
		return svc.Attachment{}, nil, err
	}
	body, err := blobs{s}.openBlob(ctx, a.Scope, at.Blob)
	return at, body, err
}

// blobs is how a store keeps what is too large for its rows.
type blobs struct{ *Store }

func (s blobs) openBlob(ctx context.Context, scope string, b svc.Blob) (io.ReadCloser, error) {
	if s.db.Dialect() == sqldb.Postgres {
		c := &chunks{ctx: ctx, store: s.Store, scope: scope, blob: b}
		return c, c.next()
	}
	f, err := os.Open(s.blobPath(scope, b.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, svc.ErrNotFound
	}
	return f, err
}

// size is how many bytes a content has.
func (s blobs) size(ctx context.Context, scope, sha string) (int64, error) {
	if s.db.Dialect() == sqldb.Postgres {
		return readRow(ctx, s.Store, "measure blob", svc.ErrNotFound, func(n *int64) []any { return []any{n} },
			`SELECT SUM(LENGTH(data)) FROM blob_chunks WHERE scope = $1 AND sha256 = $2 HAVING COUNT(*) > 0`, scope, sha)
	}
	stat, err := os.Stat(s.blobPath(scope, sha))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, svc.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

// blobPath keeps scopes apart by a hash of their name: a scope holds slashes.
func (s blobs) blobPath(scope, name string) string {
	return filepath.Join(blobFolder(s.db, scope), name)
}

func blobFolder(db *sqldb.DB, scope string) string { return db.Folder().Path(blobName(scope, "")) }

// blobName is the path of a blob below the folder of its database.
func blobName(scope, name string) string {
	sum := sha256.Sum256([]byte(scope))
	return filepath.Join("blobs", hex.EncodeToString(sum[:16]), name)
}

// putFile writes, syncs and renames, so that a name never stands for half the bytes.
func (s blobs) putFile(_ context.Context, scope string, r io.Reader) (b svc.Blob, err error) {
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
	// Not while the sweeper looks whether the file of that name is old.
	s.putting.Lock()
	defer s.putting.Unlock()
	if err := os.Rename(f.Name(), s.blobPath(scope, b.SHA256)); err != nil {
		return svc.Blob{}, err
	}
	return b, sqldb.SyncDir(dir)
}

const chunkBytes = 256 << 10

// putRows writes chunks under a name of their own and gives them the right one at the end, when the hash is known. What a
// node leaves behind that dies in between is swept, like all bytes that no stream refers to.
func (s blobs) putRows(ctx context.Context, scope string, r io.Reader) (svc.Blob, error) {
	incoming := "incoming-" + rand.Text()
	b, err := s.putChunks(ctx, scope, incoming, r)
	if err != nil {
		return svc.Blob{}, err
	}
	for {
		err := s.nameChunks(ctx, scope, incoming, b.SHA256)
		if !sqldb.IsTaken(err) {
			return b, err
		}
		// Somebody put the same bytes at the same time, and was first.
	}
}

func (s blobs) putChunks(ctx context.Context, scope, name string, r io.Reader) (b svc.Blob, err error) {
	sum := sha256.New()
	buf := make([]byte, chunkBytes)
	for n := 0; ; n++ {
		size, end := io.ReadFull(r, buf)
		if end != nil && end != io.EOF && end != io.ErrUnexpectedEOF {
			return b, end
		}
		sum.Write(buf[:size])
		b.Size += int64(size)
		if size > 0 || n == 0 {
			if err := s.putChunk(ctx, scope, name, n, buf[:size]); err != nil {
				return b, err
			}
		}
		if end != nil {
			b.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return b, nil
		}
	}
}

func (s blobs) putChunk(ctx context.Context, scope, name string, n int, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout())
	defer cancel()
	_, err := s.db.Pool().Exec(ctx, `INSERT INTO blob_chunks (scope, sha256, n, at, data) VALUES ($1, $2, $3, COALESCE($4::bigint, `+postgresNow+`), $5)`,
		scope, name, n, s.clock(), data)
	return unavailable(err)
}

// nameChunks gives what came in its name, or where the same bytes lie under it already makes those as young as if they had
// come now.
func (s blobs) nameChunks(ctx context.Context, scope, incoming, sha string) error {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout())
	defer cancel()
	_, err := s.db.Pool().Exec(ctx, `
WITH there AS (
  UPDATE blob_chunks SET at = COALESCE($4::bigint, `+postgresNow+`) WHERE scope = $1 AND sha256 = $3 AND n = 0 RETURNING n
), gone AS (
  DELETE FROM blob_chunks WHERE scope = $1 AND sha256 = $2 AND EXISTS (SELECT 1 FROM there)
)
UPDATE blob_chunks SET sha256 = $3 WHERE scope = $1 AND sha256 = $2 AND NOT EXISTS (SELECT 1 FROM there)`, scope, incoming, sha, s.clock())
	return unavailable(err)
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
	ctx, cancel := context.WithTimeout(c.ctx, c.store.db.Timeout())
	defer cancel()
	err := c.store.db.Pool().QueryRow(ctx, `SELECT data FROM blob_chunks WHERE scope = $1 AND sha256 = $2 AND n = $3`,
		c.scope, c.blob.SHA256, c.n).Scan(&c.rest)
	if errors.Is(err, pgx.ErrNoRows) {
		return svc.ErrNotFound
	}
	if err != nil {
		return wrap("read blob", err)
	}
	c.n++
	return nil
}

func (c *chunks) Close() error { return nil }

// blobAge is how long bytes may lie without a stream that refers to them.
const blobAge = 24 * time.Hour
