package harness

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"mikan/wire"
)

// checkedImage is p as its bytes say it is, or why no provider takes it.
func checkedImage(p wire.Part) (wire.Part, error) {
	if base64.StdEncoding.DecodedLen(len(p.Data)) > maxImage+2 {
		return p, fmt.Errorf("it is larger than %s", size(maxImage))
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil {
		return p, errors.New("its data is not base64")
	}
	mime := imageType(data)
	if mime == "" {
		return p, errors.New("it is none of PNG, JPEG, GIF and WebP")
	}
	r, err := readImage("image", mime, bytes.NewReader(data))
	if err != nil {
		return p, err
	}
	return r.Content[1], nil
}
