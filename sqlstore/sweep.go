package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	sweepEvery = time.Hour
	sweepRows  = 500
)

// Swept counts what a sweep has forgotten.
type Swept struct {
	Keys  int64 // idempotency keys past their age
	Blobs int64 // bytes that no stream refers to
}

func (s *Store) sweepAlways(ctx context.Context) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		swept, err := s.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("sweep", "error", err)
		}
		if swept != (Swept{}) {
			s.config.Log.Info("swept", "keys", swept.Keys, "blobs", swept.Blobs)
		}
	}
}

// Sweep forgets what is past its time, in small batches. The store does it by itself once an hour.
func (s *Store) Sweep(ctx context.Context) (swept Swept, err error) {
	if swept.Keys, err = s.sweepKeys(ctx); err != nil {
		return swept, err
	}
	if s.db.Dialect() == sqldb.Postgres {
		swept.Blobs, err = s.sweepRows(ctx)
	} else {
		swept.Blobs, err = s.sweepFiles(ctx)
	}
	return swept, err
}

func (s *Store) sweepKeys(ctx context.Context) (total int64, err error) {
	for {
		var n int64
		err := s.write(ctx, "sweep keys", func(tx *sqldb.Tx) error {
			now, err := s.now(tx)
			if err != nil {
				return err
			}
			n, err = tx.Exec(`UPDATE submissions SET idem = NULL WHERE idem IN (
SELECT idem FROM submissions WHERE idem IS NOT NULL AND admitted_at < $1 AND outcome IS NOT NULL ORDER BY admitted_at LIMIT $2)`,
				now-s.config.IdempotencyAge.Milliseconds(), sweepRows)
			return err
		})
		total += n
		if err != nil || n < sweepRows {
			return total, err
		}
	}
}

func (s *Store) sweepRows(ctx context.Context) (total int64, err error) {
	for {
		tag, err := s.db.Pool().Exec(ctx, `
DELETE FROM blob_chunks c USING (
  SELECT scope, sha256 FROM blob_chunks o WHERE n = 0 AND at < COALESCE($1::bigint, `+postgresNow+`) - $2
  AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = o.sha256 AND b.scope = o.scope) ORDER BY at LIMIT 20
) AS old WHERE c.scope = old.scope AND c.sha256 = old.sha256`, s.clock(), blobAge.Milliseconds())
		total += tag.RowsAffected()
		if err != nil || tag.RowsAffected() == 0 {
			return total, err
		}
	}
}

// sweepFiles walks the blobs; a file that is put again is a new file, so its age is that of its last Put.
func (s *Store) sweepFiles(ctx context.Context) (total int64, err error) {
	root := s.db.Folder().Path("blobs")
	old := s.config.Now().Add(-blobAge)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil || info.ModTime().After(old) {
			return ignoreMissing(err)
		}
		used, err := s.blobUsed(ctx, filepath.Base(path), path)
		if err != nil || used {
			return err
		}
		total++
		return ignoreMissing(os.Remove(path))
	})
	return total, ignoreMissing(err)
}

func (s *Store) blobUsed(ctx context.Context, sha, path string) (used bool, err error) {
	err = s.read(ctx, "sweep blobs", func(tx *sqldb.Tx) error {
		rows, err := tx.Query(`SELECT DISTINCT scope FROM blobs WHERE sha256 = $1`, sha)
		if err != nil {
			return err
		}
		scopes, err := collect(rows, func(scope *string) []any { return []any{scope} })
		for _, scope := range scopes {
			used = used || s.blobPath(scope, sha) == path
		}
		return err
	})
	return used, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
