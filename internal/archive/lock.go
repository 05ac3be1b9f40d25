package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// ageBegins is how an encrypted archive begins.
const ageBegins = "age-encryption.org/"

// ErrEncrypted says that an archive is encrypted and nothing was given to open it.
var ErrEncrypted = errors.New("the archive is encrypted: give the identity or the passphrase with --identity FILE")

// Recipient reads for whom an archive is encrypted: a public key of age (age1…), or the name of a file whose first line is a
// passphrase.
func Recipient(text string) (age.Recipient, error) {
	if strings.HasPrefix(text, "age1") {
		to, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("recipient %s: %w", text, err)
		}
		return to[0], nil
	}
	phrase, err := readPhrase(text)
	if err != nil {
		return nil, err
	}
	return age.NewScryptRecipient(phrase)
}

// Identities reads a file that opens archives: keys of age, a line each, or a passphrase in its first line.
func Identities(file string) ([]age.Identity, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	if bytes.Contains(text, []byte("AGE-SECRET-KEY-")) {
		all, err := age.ParseIdentities(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s holds no keys that age can read", file)
		}
		return all, nil
	}
	phrase, err := readPhrase(file)
	if err != nil {
		return nil, err
	}
	one, err := age.NewScryptIdentity(phrase)
	return []age.Identity{one}, err
}

// shortPhrase is the shortest passphrase that is taken.
const shortPhrase = 12

func readPhrase(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	phrase := strings.TrimRight(first, "\r\n")
	if len(phrase) < shortPhrase {
		return "", fmt.Errorf("the first line of %s is no passphrase: it has less than %d characters", file, shortPhrase)
	}
	return phrase, nil
}

// Encrypted writes what only the holder of the other key, or of the passphrase, can read. Close ends it.
func Encrypted(w io.Writer, to age.Recipient) (io.WriteCloser, error) { return age.Encrypt(w, to) }

// FileOpener opens an archive in a file, encrypted or not.
func FileOpener(path string, with []age.Identity) Opener {
	return Opener{Name: path, Open: func() (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, bare(err)
		}
		r, err := opened(f, with)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return readCloser{r, f}, nil
	}}
}

// bare is an error without the path, which begins the message already.
func bare(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

type readCloser struct {
	io.Reader
	io.Closer
}

func opened(r io.Reader, with []age.Identity) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 256<<10)
	if begins, _ := buffered.Peek(len(ageBegins)); string(begins) != ageBegins {
		return buffered, nil
	}
	if len(with) == 0 {
		return nil, ErrEncrypted
	}
	plain, err := age.Decrypt(buffered, with...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, errors.New("the archive is encrypted for another key or passphrase")
	}
	if err != nil {
		return nil, damaged("%v", err)
	}
	return decrypted{plain}, nil
}

// decrypted reads what age has opened; what it refuses is damaged.
type decrypted struct{ from io.Reader }

func (d decrypted) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged("%v", err)
	}
	return n, err
}
