package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	sweepEvery = time.Hour
	sweepRows  = 500
)

// Swept counts what a sweep has forgotten.
type Swept struct {
	Keys          int64 // idempotency keys past their age
	Runs          int64 // runs past RunAge
	Conversations int64 // conversations past ConversationAge
	Blobs         int64 // bytes that no stream refers to
}

// sweep takes away what a store keeps no longer.
type sweep struct{ *Store }

func (s sweep) always(ctx context.Context) {
	next := time.NewTimer(rand.N(s.config.sweepFirst))
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		next.Reset(sweepEvery)
		swept, err := s.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("sweep", "error", err)
		}
		if swept != (Swept{}) {
			s.config.Log.Info("swept", "keys", swept.Keys, "runs", swept.Runs, "conversations", swept.Conversations, "blobs", swept.Blobs)
		}
	}
}

// Sweep forgets what is past its time, in small batches. The store does it by itself once an hour, for the first time within a
// minute after it was opened. What was forgotten before an error counts too.
func (s *Store) Sweep(ctx context.Context) (swept Swept, err error) {
	defer func() { s.config.Swept(swept) }()
	of := sweep{s}
	for _, kind := range []struct {
		count *int64
		do    func(context.Context) (int64, error)
	}{
		{&swept.Keys, of.keys}, {&swept.Runs, of.runs}, {&swept.Conversations, of.conversations}, {&swept.Blobs, either(s, of.files, of.rows)},
	} {
		if *kind.count, err = kind.do(ctx); err != nil {
			return swept, err
		}
	}
	return swept, nil
}

func (s sweep) keys(ctx context.Context) (int64, error) {
	total, err := sqldb.Drain(ctx, s.db, sweepRows, func(tx *sqldb.Tx) (int64, error) {
		now, err := s.now(tx)
		if err != nil {
			return 0, err
		}
		return tx.Exec(`UPDATE submissions SET idem = NULL WHERE idem IN (
SELECT idem FROM submissions WHERE idem IS NOT NULL AND admitted_at < $1 AND outcome IS NOT NULL ORDER BY admitted_at LIMIT $2)`,
			now-s.config.IdempotencyAge.Milliseconds(), sweepRows)
	})
	return total, wrap("sweep keys", err)
}

// rows takes the first chunk of old bytes first, as it is when it is taken: what was put again meanwhile is young.
func (s sweep) rows(ctx context.Context) (total int64, err error) {
	for {
		var n int64
		err := s.write(ctx, "sweep blobs", func(tx *sqldb.Tx) error {
			type content struct{ scope, sha string }
			taken, err := collect(tx, func(c *content) []any { return []any{&c.scope, &c.sha} }, `
DELETE FROM blob_chunks WHERE ctid IN (
  SELECT o.ctid FROM blob_chunks o WHERE n = 0 AND at < COALESCE($1::bigint, `+postgresNow+`) - $2
  AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = o.sha256 AND b.scope = o.scope) ORDER BY at LIMIT 20 FOR UPDATE SKIP LOCKED
) RETURNING scope, sha256`, s.clock(), blobAge.Milliseconds())
			n = int64(len(taken))
			for _, c := range taken {
				if _, err := tx.Exec(`DELETE FROM blob_chunks WHERE scope = $1 AND sha256 = $2`, c.scope, c.sha); err != nil {
					return err
				}
			}
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; n == 0 {
			return total, nil
		}
	}
}

// files walks the blobs; a file that is put again is a new file, so its age is that of its last Put.
func (s sweep) files(ctx context.Context) (total int64, err error) {
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
		return s.removeOld(path, old)
	})
	return total, ignoreMissing(err)
}

// removeOld removes a blob unless it was put again since it was looked at.
func (s sweep) removeOld(path string, old time.Time) error {
	s.putting.Lock()
	defer s.putting.Unlock()
	if s.backups.Load() > 0 {
		return nil // the next sweep has it
	}
	info, err := os.Stat(path)
	if err != nil || info.ModTime().After(old) {
		return ignoreMissing(err)
	}
	return ignoreMissing(os.Remove(path))
}

func (s sweep) blobUsed(ctx context.Context, sha, path string) (bool, error) {
	scopes, err := sqldb.ReadAll(ctx, s.db, sqldb.Column[string], `SELECT DISTINCT scope FROM blobs WHERE sha256 = $1`, sha)
	used := slices.ContainsFunc(scopes, func(scope string) bool { return blobs(s).blobPath(scope, sha) == path })
	return used, wrap("sweep blobs", err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
