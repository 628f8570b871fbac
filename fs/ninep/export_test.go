package ninep

// The two directions of an error.
var (
	Ename      = ename
	ParseEname = parseEname
)
