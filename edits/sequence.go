package edits

// A Sequence takes replacements one after the other, each on the result of
// those before it.
type Sequence struct {
	src  string
	text string
	list []Edit // of src
}

// NewSequence begins with src.
func NewSequence(src string) *Sequence { return &Sequence{src: src, text: src} }

// Replace is the function Replace on the text as it is now.
func (s *Sequence) Replace(old, new string, all bool) (Match, error) {
	m, err := Replace(s.text, old, new, all)
	if err != nil {
		return m, err
	}
	return m, s.Apply(m.Edits)
}

// Apply carries out edits of the text as it is now.
func (s *Sequence) Apply(list []Edit) error {
	text, err := Apply(s.text, list)
	if err != nil {
		return err
	}
	s.text, s.list = text, Compose(s.list, list)
	return nil
}

// Text returns the text as it is now.
func (s *Sequence) Text() string { return s.text }

// Edits returns everything done so far as edits of the first text.
func (s *Sequence) Edits() []Edit { return s.list }

// Origin returns the line of the first text that stands at line now; ok is
// false where a replacement wrote it.
func (s *Sequence) Origin(line int) (int, bool) { return NewLineMap(s.src, s.list).Old(line) }
