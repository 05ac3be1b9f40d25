package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A bundle's file is a line that says what it is, which format and what hash the rest has, and the rest as JSON. A machine runs it
// that has neither the sources nor their packages.
const (
	fileName   = "svc-bundle"
	fileFormat = 1
	maxFile    = 4 * MaxCode // with its source map
)

// packed is the rest of a file.
type packed struct {
	Code string          `json:"code"`
	Map  json.RawMessage `json:"map"`
}

// Encode is the bundle as a file.
func (b *Bundle) Encode() ([]byte, error) {
	rest, err := json.Marshal(packed{b.Code, b.Map.raw})
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	return append(fmt.Appendf(nil, "%s %d %s\n", fileName, fileFormat, hashOf(rest)), rest...), nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Decode reads a bundle's file. It refuses one that is newer than this program, and one that is not as it was written.
func Decode(data []byte) (*Bundle, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("bundle: longer than %d bytes", maxFile)
	}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	words := strings.Fields(string(head[:min(len(head), 200)]))
	if len(words) < 2 || words[0] != fileName {
		return nil, errors.New("bundle: the file is none of svc bundle")
	}
	switch format, err := strconv.Atoi(words[1]); {
	case err != nil || format < 1:
		return nil, errors.New("bundle: the file is none of svc bundle")
	case format > fileFormat:
		return nil, fmt.Errorf("bundle: the file is of format %d, newer than this svc, which reads %d", format, fileFormat)
	}
	if len(words) != 3 || words[2] != hashOf(rest) {
		return nil, errors.New("bundle: the file is damaged: it is not what its hash says")
	}
	var read packed
	if err := json.Unmarshal(rest, &read); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	if len(read.Code) > MaxCode {
		return nil, fmt.Errorf("bundle: a script longer than %d bytes", MaxCode)
	}
	m, err := ParseMap(read.Map)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return &Bundle{Code: read.Code, Map: m}, nil
}

// Open is the bundle of a project's folder, or of the file that svc bundle made of one.
func Open(name string) (*Bundle, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		p, err := Find(name)
		if err != nil {
			return nil, err
		}
		return p.Make()
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Decode(data)
}
