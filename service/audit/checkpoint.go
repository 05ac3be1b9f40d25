package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	checkpointEvery = time.Minute
	checkpointRows  = 1000
)

// checkpoint is the heads of all chains at one time, signed. A full one names them all; another names those that changed
// since the line before, and root, the hash of all heads, covers the rest.
type checkpoint struct {
	chains    int64
	full      bool
	heads     []head // by chain
	prev      []byte // SHA-256 of the line before; empty: there was none
	root      []byte
	at        time.Time
	signature []byte
}

// written is the last line that this log wrote, and the heads it stood for.
type written struct {
	line  []byte // its SHA-256
	heads map[string]head
}

// Checkpoint signs the heads of all chains and adds them to the file in the Folder, when one changed since this log did so
// last. Run does it each minute and every 1,000 events.
func (l *Log) Checkpoint(ctx context.Context) error {
	if l.sink.folder == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	heads, err := readHeads(ctx, l.db)
	if err != nil {
		return fmt.Errorf("read heads: %w", err)
	}
	if len(changed(l.last.heads, heads)) == 0 {
		return nil
	}
	l.appended.Store(0)
	l.watch(heads)
	var next written
	err = l.sink.add(func(last []byte) []byte {
		line := l.compose(heads, last)
		next = written{line: hashLine(line), heads: index(heads)}
		return line
	})
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	l.last = next
	return nil
}

// watch says at once what Verify would find: a chain that is shorter than it was.
func (l *Log) watch(heads []head) {
	now := index(heads)
	for chain, was := range l.last.heads {
		if h := now[chain]; h.seq < was.seq {
			l.config.Log.Error("audit chain was cut", "scope", chain, "seq", h.seq, "was", was.seq)
		}
	}
}

// compose makes a line to follow last: a full one unless last is the one that this log wrote.
func (l *Log) compose(heads []head, last []byte) []byte {
	c := checkpoint{chains: int64(len(heads)), root: rootOf(heads), at: l.config.Now()}
	if last != nil {
		c.prev = hashLine(last)
	}
	if last != nil && bytes.Equal(c.prev, l.last.line) {
		c.heads = changed(l.last.heads, heads)
	} else {
		c.full, c.heads = true, heads
	}
	c.signature = ed25519.Sign(l.private, c.canonical())
	return c.canonical()
}

// canonical is the checkpoint's text. The signature covers the one without itself.
func (c checkpoint) canonical() []byte {
	var o object
	o.number("chains", c.chains)
	o.raw("full", fmt.Append(nil, c.full))
	o.raw("heads", arrayOf(c.heads, func(b []byte, h head) []byte { return append(b, h.canonical()...) }))
	o.bytes("prev", c.prev)
	o.bytes("root", c.root)
	if c.signature != nil {
		o.bytes("signature", c.signature)
	}
	o.time("ts", c.at)
	o.text("type", "checkpoint")
	return o.end()
}

// parseCheckpoint reads a line that key has signed. Another text that means the same is refused.
func parseCheckpoint(line []byte, key ed25519.PublicKey) (checkpoint, error) {
	var raw struct {
		Chains int64
		Full   bool
		Heads  []struct {
			Chain, Hash string
			Seq         int64
		}
		Prev, Root, Signature string
		TS                    time.Time
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return checkpoint{}, errors.New("it is not a checkpoint")
	}
	c := checkpoint{chains: raw.Chains, full: raw.Full, at: raw.TS}
	c.prev, c.root, c.signature = unhex(raw.Prev), unhex(raw.Root), unhex(raw.Signature)
	for _, h := range raw.Heads {
		c.heads = append(c.heads, head{chain: h.Chain, seq: h.Seq, hash: unhex(h.Hash)})
	}
	if !bytes.Equal(c.canonical(), line) {
		return checkpoint{}, errors.New("it is not a checkpoint as this log writes them")
	}
	unsigned := c
	unsigned.signature = nil
	if !ed25519.Verify(key, unsigned.canonical(), c.signature) {
		return checkpoint{}, errors.New("its signature is not that of this log")
	}
	return c, nil
}

// unhex gives nothing for what is not hexadecimal: the text it was in is then another than the canonical one.
func unhex(s string) []byte {
	b, _ := hex.DecodeString(s)
	return b
}

func hashLine(line []byte) []byte {
	sum := sha256.Sum256(line)
	return sum[:]
}
