package redact

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// handler is a slog.Handler that redacts what passes through it.
type handler struct {
	next     slog.Handler
	redactor *Redactor
	bound    []bound // by With and WithGroup, in their order
}

// bound is a group or, without a name, attributes. They are redacted when they are printed: a value may be learned after
// they were bound.
type bound struct {
	group string
	attrs []slog.Attr
}

// Handler is a slog.Handler that redacts message, keys and attributes, in groups too, before next sees them. Errors and
// other values become the text that they print as; numbers, times and the like stay what they are.
func (r *Redactor) Handler(next slog.Handler) slog.Handler { return &handler{next: next, redactor: r} }

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, h.attr(a))
		return true
	})
	for _, b := range slices.Backward(h.bound) {
		if b.group != "" {
			attrs = []slog.Attr{{Key: h.redactor.Text(b.group), Value: slog.GroupValue(attrs...)}}
		} else {
			attrs = append(h.attrs(b.attrs), attrs...)
		}
	}
	clean := slog.NewRecord(r.Time, r.Level, h.redactor.Text(r.Message), r.PC)
	clean.AddAttrs(attrs...)
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.with(bound{attrs: slices.Clone(attrs)})
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(bound{group: name})
}

func (h *handler) with(b bound) *handler {
	return &handler{next: h.next, redactor: h.redactor, bound: append(slices.Clip(h.bound), b)}
}

func (h *handler) attrs(all []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(all))
	for i, a := range all {
		clean[i] = h.attr(a)
	}
	return clean
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: h.redactor.Text(a.Key), Value: h.value(a.Value.Resolve())}
}

func (h *handler) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.redactor.Text(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindAny:
		return h.any(v.Any())
	}
	return v
}

func (h *handler) any(v any) slog.Value {
	var text string
	switch v := v.(type) {
	case nil, *slog.Source:
		return slog.AnyValue(v)
	case []byte:
		text = string(v)
	case error:
		text = fmt.Sprintf("%v", v) // also where Error panics
	default:
		text = fmt.Sprintf("%+v", v)
	}
	return slog.StringValue(h.redactor.Text(text))
}
