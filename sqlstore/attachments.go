package sqlstore

import (
	"context"

	"svc.dev/svc/internal/sqldb"
)

// BlobFile is where the bytes of attachments lie beside a SQLite database.
type BlobFile struct {
	Path   string // below the folder of the database
	SHA256 string
	Size   int64
}

// EachBlobFile tells once of every file that the streams of a SQLite database refer to.
func EachBlobFile(ctx context.Context, db interface {
	Read(context.Context, func(*sqldb.Tx) error) error
}, tell func(BlobFile) error,
) error {
	return wrap("list blobs", db.Read(ctx, func(tx *sqldb.Tx) error {
		rows, err := tx.Query(`SELECT scope, sha256, MAX(size) FROM blobs GROUP BY scope, sha256 ORDER BY scope, sha256`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var scope string
			var f BlobFile
			if err := rows.Scan(&scope, &f.SHA256, &f.Size); err != nil {
				return err
			}
			f.Path = blobName(scope, f.SHA256)
			if err := tell(f); err != nil {
				return err
			}
		}
		return rows.Err()
	}))
}

// KeepBlobs lets no file of a blob be swept until release is called: a backup that has its copy of the database finds every file
// that the copy refers to.
func KeepBlobs(s *Store) (release func()) {
	// Not while the sweeper removes one that it found unused before.
	s.putting.Lock()
	defer s.putting.Unlock()
	s.backups.Add(1)
	return func() { s.backups.Add(-1) }
}
