package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/secret"
)

// KeysConfig is where the key ring lies, and what is sealed under it.
type KeysConfig struct {
	DB *sqldb.DB
	// File holds the ring. It is made over an empty database.
	File string
	// Fixed says that the ring was given instead of a file, which a process reads once.
	Fixed bool
	// Given says that another process makes the ring, of which this one is given a copy.
	Given bool
	// Read reads the ring that was given, or else that of the file.
	Read     func() (*secret.Ring, error)
	Log      *slog.Logger
	Redactor *redact.Redactor
}

// Keys is the key ring of a process, and the secrets that are sealed under it.
type Keys struct {
	Secrets *secret.Store

	config   KeysConfig
	changing sync.Mutex // held while the ring changes
}

// Changing is held while the ring changes.
func (k *Keys) Changing() sync.Locker { return &k.changing }

// ring is what OpenKeys and whatever changed it since gave the secrets.
func (k *Keys) ring() *secret.Ring { return k.Secrets.Keys().(*secret.Ring) }

// OpenKeys finds the key ring and opens the secrets with it.
func OpenKeys(ctx context.Context, c KeysConfig) (*Keys, error) {
	k := &Keys{config: c}
	ring, made, err := k.findRing(ctx)
	if err != nil {
		return nil, err
	}
	k.Secrets, err = secret.Open(ctx, c.DB, ring, secret.Config{Log: c.Log, Redactor: c.Redactor})
	if err == nil {
		return k, nil
	}
	if made {
		// Another node was first: this ring has sealed nothing.
		err = errors.Join(err, os.Remove(c.File))
	}
	if errors.Is(err, secret.ErrKeyMismatch) {
		return nil, fmt.Errorf("%w: give the key ring that belongs to this database, as keys.file or SVC_KEYS", err)
	}
	return nil, fmt.Errorf("open secrets: %w", err)
}

// findRing is the ring of the configuration, else that of its file, else a new one. A new one is made only where nothing was
// ever sealed: over old data it would lose the data.
func (k *Keys) findRing(ctx context.Context) (ring *secret.Ring, made bool, err error) {
	ring, err = k.config.Read()
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, false, err
	}
	empty, err := secret.Empty(ctx, k.config.DB)
	if err != nil {
		return nil, false, err
	}
	if !empty {
		return nil, false, fmt.Errorf("%w: the key ring %s is not there, and this database holds what only its keys open: restore the file, or give the ring as SVC_KEYS",
			secret.ErrKeyMismatch, k.config.File)
	}
	if k.config.Given {
		return nil, false, fmt.Errorf("the key ring %s is not there: svc gateway makes one at its first start; give this process the same, as keys.file or SVC_KEYS", k.config.File)
	}
	if ring, err = secret.NewRing(); err != nil {
		return nil, false, err
	}
	return ring, true, ring.WriteNew(k.config.File)
}

// goOnWithFile takes the ring that the file holds now. The caller holds changing.
func (k *Keys) goOnWithFile(ctx context.Context) error {
	ring, err := secret.ReadRing(k.config.File)
	if err != nil {
		return err
	}
	return k.Secrets.Reload(ctx, ring)
}

var errFixed = errors.New("the key ring was given as SVC_KEYS, which a process reads once: start it again to change it")

// Reload reads the key ring again. What is wrong is logged, and the old one stays in use.
func (k *Keys) Reload(ctx context.Context) {
	k.changing.Lock()
	defer k.changing.Unlock()
	err := errFixed
	if !k.config.Fixed {
		err = k.goOnWithFile(ctx)
	}
	if err != nil {
		k.config.Log.Error("keys were not reloaded, the old ones stay in use", "error", err)
		return
	}
	k.config.Log.Info("keys reloaded", "active", k.Secrets.Active(), "keys", len(k.Secrets.Keys().Kids()))
}

// Check reports a key that values need and this node does not have, as when another node was given a newer ring.
func (k *Keys) Check(ctx context.Context) error {
	rows, err := k.Secrets.Rows(ctx)
	if err != nil {
		return err
	}
	for _, kid := range k.Secrets.Keys().Kids() {
		delete(rows, kid)
	}
	for kid, n := range rows {
		if n > 0 {
			return fmt.Errorf("%d values need key %s, which is not in the ring of this node", n, kid)
		}
	}
	return nil
}
