package repository

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// contents reads the contents of objects, one after the other.
type contents struct {
	command *exec.Cmd
	end     context.CancelFunc
	ask     io.WriteCloser
	answer  *bufio.Reader
}

func (f *remote) contents(ctx context.Context) (*contents, error) {
	ctx, end := context.WithCancel(ctx)
	c := f.command(ctx, false, "cat-file", "--batch")
	ask, err := c.StdinPipe()
	var answer io.Reader
	if err == nil {
		answer, err = c.StdoutPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("start git: %w", err)
	}
	return &contents{c, end, ask, bufio.NewReaderSize(answer, 64<<10)}, nil
}

func (c *contents) close() {
	c.end()
	_ = c.command.Wait()
}

// copy writes the content of a file, which has the size that the tree says.
func (c *contents) copy(to io.Writer, l leaf) error {
	if _, err := io.WriteString(c.ask, l.object+"\n"); err != nil {
		return fmt.Errorf("ask for object: %w", err)
	}
	head, err := c.answer.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	if want := fmt.Sprintf("%s blob %d\n", l.object, l.bytes); head != want {
		return errors.New("read object: it is not what the tree says")
	}
	if _, err := io.CopyN(to, c.answer, l.bytes); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	if end, err := c.answer.ReadByte(); err != nil || end != '\n' {
		return errors.New("read object: it has no end")
	}
	return nil
}

// sum is the etag that an object has as a file.
func (c *contents) sum(l leaf) (string, error) {
	sum := sha256.New()
	if err := c.copy(sum, l); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
