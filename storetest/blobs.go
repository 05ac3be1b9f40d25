package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing/iotest"

	"svc.dev/svc"
)

var blobsLaw = []sentence{
	appendRefersToABlob,
	putNamesBytesByTheirSum,
	attachmentGivesItsBytesBack,
	attachmentIsOfItsStreamOnly,
	attachmentsAddUp,
	blobOfAnotherScopeCannotBeNamed,
	sameBytesTwiceAreOneBlob,
	blobsOfTwoScopesNeverMeet,
	mebibyteComesBackByteForByte,
	brokenReaderStoresNothing,
	bytesSurviveReopening,
}

func named(content string) svc.Blob {
	sum := sha256.Sum256([]byte(content))
	return svc.Blob{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// put stores bytes and returns an attachment that names them.
func (s *scene) put(scope, id, content string) svc.Attachment {
	s.Helper()
	b, err := s.store.Put(s.Context(), scope, strings.NewReader(content))
	s.must(err)
	return svc.Attachment{ID: id, Blob: b, MimeType: "text/plain", Filename: id + " ä.txt"}
}

// attach admits a prompt that refers to attachments.
func (s *scene) attach(st svc.Stream, submission string, all ...svc.Attachment) {
	s.Helper()
	a := prompt(st, submission)
	a.Blobs = all
	s.admit(a)
}

// get proves that a stream has an attachment and that its bytes are these.
func (s *scene) get(st svc.Stream, want svc.Attachment, content string) {
	s.Helper()
	got, r, err := s.store.Get(s.Context(), st, want.ID)
	s.must(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	s.must(err)
	equal(s, "attachment", got, want)
	if !bytes.Equal(data, []byte(content)) {
		s.Fatalf("%d bytes that differ from the %d put", len(data), len(content))
	}
}

func (s *scene) noAttachment(st svc.Stream, id string) {
	s.Helper()
	_, r, err := s.store.Get(s.Context(), st, id)
	if err == nil {
		r.Close()
	}
	s.refused(err, svc.ErrNotFound)
}

// cannotName proves that a stream gets nothing by naming a blob: the admission is refused, or there is nothing to get.
func (s *scene) cannotName(st svc.Stream, b svc.Blob) {
	s.Helper()
	a := prompt(st, "s1")
	a.Blobs = []svc.Attachment{{ID: "stolen", Blob: b, MimeType: "text/plain"}}
	if _, err := s.store.Admit(s.Context(), a); err == nil {
		s.noAttachment(st, "stolen")
	}
}

func putNamesBytesByTheirSum(s *scene) {
	for _, content := range []string{"hello", "", "\x00\xff"} {
		b, err := s.store.Put(s.Context(), scope, strings.NewReader(content))
		s.must(err)
		equal(s, "blob", b, named(content))
	}
}

func attachmentGivesItsBytesBack(s *scene) {
	a1, a2 := s.put(scope, "a1", "hello"), s.put(scope, "a2", "")
	a2.Filename = ""
	s.attach(conversation("42"), "s1", a1, a2)
	s.get(conversation("42"), a1, "hello")
	s.get(conversation("42"), a2, "")
}

func attachmentIsOfItsStreamOnly(s *scene) {
	a := s.put(scope, "a1", "hello")
	s.noAttachment(conversation("42"), "a1")
	s.attach(conversation("42"), "s1", a)
	s.attach(conversation("43"), "s1")
	s.attach(in("other", conversation("42")), "s1")
	s.noAttachment(conversation("42"), "a2")
	s.noAttachment(conversation("43"), "a1")
	s.noAttachment(conversation("44"), "a1")
	s.noAttachment(in("other", conversation("42")), "a1")
	s.get(conversation("42"), a, "hello")
}

func attachmentsAddUp(s *scene) {
	a1, a2 := s.put(scope, "a1", "one"), s.put(scope, "a2", "two")
	s.attach(conversation("42"), "s1", a1)
	s.attach(conversation("42"), "s2", a2)
	s.get(conversation("42"), a1, "one")
	s.get(conversation("42"), a2, "two")
}

func blobOfAnotherScopeCannotBeNamed(s *scene) {
	a := s.put(scope, "a1", "secret")
	s.attach(conversation("42"), "s1", a)
	s.cannotName(in("other", conversation("42")), a.Blob)
}

func sameBytesTwiceAreOneBlob(s *scene) {
	a1, a2 := s.put(scope, "a1", "hello"), s.put(scope, "a2", "hello")
	equal(s, "blob", a2.Blob, a1.Blob)
	s.attach(conversation("42"), "s1", a1, a2)
	s.attach(conversation("43"), "s1", a1)
	s.get(conversation("43"), a1, "hello")
	// One reference less is not the last one.
	s.drop(conversation("43"))
	s.get(conversation("42"), a1, "hello")
	s.get(conversation("42"), a2, "hello")
}

func blobsOfTwoScopesNeverMeet(s *scene) {
	here, there := conversation("42"), in("other", conversation("42"))
	ours, theirs := s.put(scope, "a1", "same"), s.put("other", "a1", "same")
	theirs.Filename = "theirs.txt"
	s.attach(here, "s1", ours)
	s.attach(there, "s1", theirs)
	s.drop(here)
	s.noAttachment(here, "a1")
	s.get(there, theirs, "same")
}

func mebibyteComesBackByteForByte(s *scene) {
	content := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(content)
	a := s.put(scope, "a1", string(content))
	equal(s, "blob", a.Blob, named(string(content)))
	s.attach(conversation("42"), "s1", a)
	s.get(conversation("42"), a, string(content))
}

func brokenReaderStoresNothing(s *scene) {
	broken, half := errors.New("connection reset"), strings.Repeat("half", 100<<10)
	_, err := s.store.Put(s.Context(), scope, io.MultiReader(strings.NewReader(half), iotest.ErrReader(broken)))
	s.refused(err, broken)
	s.cannotName(conversation("42"), named(half))
}

func bytesSurviveReopening(s *scene) {
	a := s.put(scope, "a1", "hello")
	s.reopen()
	s.attach(conversation("42"), "s1", a)
	s.reopen()
	s.get(conversation("42"), a, "hello")
}

func appendRefersToABlob(s *scene) {
	l := s.hold(prompt(conversation("42"), "s1"))
	blob, err := s.store.Put(s.Context(), scope, strings.NewReader("picture"))
	s.must(err)
	_, err = s.store.Append(s.Context(), l, svc.Commit{Data: []byte("x"), N: 1, Blobs: []svc.Attachment{{ID: "a1", Blob: blob, MimeType: "image/png"}}})
	s.must(err)
	at, body, err := s.store.Get(s.Context(), conversation("42"), "a1")
	s.must(err)
	defer body.Close()
	data, err := io.ReadAll(body)
	s.must(err)
	equal(s, "bytes", string(data), "picture")
	equal(s, "type", at.MimeType, "image/png")
}
