package mailtest

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strings"
)

// Message is a mail as its reader gets it.
type Message struct {
	Sender  string   // of the envelope
	To      []string // of the envelope
	Header  mail.Header
	ID      string // Message-ID
	Subject string
	Text    string
	HTML    string
	Links   []string // in the text, then those that only the HTML has
	Raw     []byte
}

// Token is what follows "#t=" in the mail's links; empty: there is none.
func (m Message) Token() string {
	for _, link := range m.Links {
		if _, token, found := strings.Cut(link, "#t="); found {
			return token
		}
	}
	return ""
}

func read(raw []byte) (Message, error) {
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return Message{}, err
	}
	m := Message{Header: parsed.Header, ID: parsed.Header.Get("Message-ID"), Raw: raw}
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")); err != nil {
		return Message{}, err
	}
	kind, parameters, err := mime.ParseMediaType(parsed.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return Message{}, fmt.Errorf("the mail is %q, not an alternative of two texts", kind)
	}
	if err := m.readParts(multipart.NewReader(parsed.Body, parameters["boundary"])); err != nil {
		return Message{}, err
	}
	m.findLinks()
	return m, nil
}

// readParts relies on the reader to undo quoted-printable.
func (m *Message) readParts(parts *multipart.Reader) error {
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(content), "\r\n", "\n")
		switch kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); kind {
		case "text/plain":
			m.Text = text
		case "text/html":
			m.HTML = text
		default:
			return fmt.Errorf("the mail has a part %q", kind)
		}
	}
}

var (
	links = regexp.MustCompile(`https?://[^\s<>"]+`)
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
)

func (m *Message) findLinks() {
	for _, link := range links.FindAllString(m.Text, -1) {
		m.addLink(link)
	}
	for _, href := range hrefs.FindAllStringSubmatch(m.HTML, -1) {
		m.addLink(html.UnescapeString(href[1]))
	}
}

func (m *Message) addLink(link string) {
	if !slices.Contains(m.Links, link) {
		m.Links = append(m.Links, link)
	}
}
