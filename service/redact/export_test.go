package redact

// Bound makes a Redactor forget after so many forms.
func Bound(r *Redactor, forms int) { r.many = forms }
