// Package optional is a stand-in for the library of this name, which Debian lacks: it has what the generated client uses.
package optional

type present struct{ isSet bool }

func (p present) IsSet() bool { return p.isSet }

type String struct {
	present
	value string
}

func (s String) Value() string { return s.value }

type Int64 struct {
	present
	value int64
}

func (i Int64) Value() int64 { return i.value }

type Bool struct {
	present
	value bool
}

func (b Bool) Value() bool { return b.value }

type Interface struct {
	present
	value interface{}
}

func (i Interface) Value() interface{} { return i.value }
