package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"svc.dev/svc/service/secret"
)

// openSecrets finds the key ring and opens the secrets with it.
func (h *house) openSecrets(ctx context.Context) error {
	ring, made, err := h.findRing(ctx)
	if err != nil {
		return err
	}
	h.secrets, err = secret.Open(ctx, h.db, ring, secret.Config{Log: h.log, Scrubber: h.scrubber})
	if err == nil {
		h.ring.Store(ring)
		return nil
	}
	if made {
		// Another node was first: this ring has sealed nothing.
		err = errors.Join(err, os.Remove(h.config.KeysFile))
	}
	if errors.Is(err, secret.ErrKeyMismatch) {
		return fmt.Errorf("%w: give the key ring that belongs to this database, as keys.file or SVC_KEYS", err)
	}
	return fmt.Errorf("open secrets: %w", err)
}

// findRing is the ring of the configuration, else that of its file, else a new one. A new one is made only where nothing was
// ever sealed: over old data it would lose the data.
func (h *house) findRing(ctx context.Context) (ring *secret.Ring, made bool, err error) {
	ring, err = readRing(h.config)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, false, err
	}
	empty, err := secret.Empty(ctx, h.db)
	if err != nil {
		return nil, false, err
	}
	if !empty {
		return nil, false, errLostRing(h.config.KeysFile)
	}
	if ring, err = secret.NewRing(); err != nil {
		return nil, false, err
	}
	return ring, true, ring.WriteNew(h.config.KeysFile)
}

// readRing reads the ring where the configuration says it is.
func readRing(c Config) (*secret.Ring, error) {
	if given := c.KeysRing.Reveal(); given != "" {
		return secret.ParseRing([]byte(given))
	}
	return secret.ReadRing(c.KeysFile)
}

func errLostRing(path string) error {
	return fmt.Errorf("%w: the key ring %s is not there, and this database holds what only its keys open: restore the file, or give the ring as SVC_KEYS",
		secret.ErrKeyMismatch, path)
}

// reload goes on with the ring that the file holds now.
func (h *house) reload(ctx context.Context) error {
	if h.config.KeysRing.Reveal() != "" {
		return errors.New("the key ring was given as SVC_KEYS, which a process reads once: start it again to change it")
	}
	h.keys.Lock()
	defer h.keys.Unlock()
	return h.goOnWithFile(ctx)
}

// goOnWithFile takes the ring of the file. The caller holds the mutex of keys, as for goOn.
func (h *house) goOnWithFile(ctx context.Context) error {
	ring, err := secret.ReadRing(h.config.KeysFile)
	if err != nil {
		return err
	}
	return h.goOn(ctx, ring)
}

// reloadKeys reads the key ring again.
func (h *house) reloadKeys(ctx context.Context) {
	if err := h.reload(ctx); err != nil {
		h.log.Error("keys were not reloaded, the old ones stay in use", "error", err)
		return
	}
	h.log.Info("keys reloaded", "active", h.secrets.ActiveKid(), "keys", len(h.ring.Load().Kids()))
}

// goOn changes the ring.
func (h *house) goOn(ctx context.Context, ring *secret.Ring) error {
	if err := h.secrets.Reload(ctx, ring); err != nil {
		return err
	}
	h.ring.Store(ring)
	return nil
}

// keysOpen reports a key that values need and this node does not have, as when another node was given a newer ring.
func (h *house) keysOpen(ctx context.Context) error {
	rows, err := h.secrets.Rows(ctx)
	if err != nil {
		return err
	}
	for _, kid := range h.ring.Load().Kids() {
		delete(rows, kid)
	}
	for kid, n := range rows {
		if n > 0 {
			return fmt.Errorf("%d values need key %s, which is not in the ring of this node", n, kid)
		}
	}
	return nil
}
