package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// member is a file of a package.
type member struct {
	name, path string
	mode       fs.FileMode
}

// epoch is the time of every file in a package: zip knows none before it.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack writes the files into one, as people of that platform open it, and returns its path. Nothing of this machine is in it.
func (p platform) pack(name string, files []member) (string, error) {
	write, suffix := writeTar, ".tar.gz"
	if p.os == "windows" {
		write, suffix = writeZip, ".zip"
	}
	name += suffix
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it is for everybody
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(f, files), f.Close())
}

func writeTar(w io.Writer, files []member) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	all := tar.NewWriter(zipped)
	for _, file := range files {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: file.name, Mode: int64(file.mode), Size: int64(len(text)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := all.WriteHeader(head); err != nil {
			return err
		}
		if _, err := all.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(all.Close(), zipped.Close())
}

func writeZip(w io.Writer, files []member) error {
	all := zip.NewWriter(w)
	for _, file := range files {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: epoch}
		head.SetMode(file.mode)
		entry, err := all.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return all.Close()
}

// sumsFile is checked by sha256sum -c in its folder.
const sumsFile = "SHA256SUMS"

// writeSums writes the checksums of all files in a folder.
func writeSums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(text), e.Name()))
	}
	slices.Sort(lines)
	return writeFile(filepath.Join(folder, sumsFile), []byte(strings.Join(lines, "")))
}

func writeFile(name string, text []byte) error {
	return os.WriteFile(name, text, 0o644) //nolint:gosec // it is for everybody
}
