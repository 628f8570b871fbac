package picture_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mikan/harness/picture"
)

var limits = picture.Limits{Side: 1568, Bytes: 5 << 20}

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func asPNG(img image.Image) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer cannot fail
	return b.Bytes()
}

func asJPEG(img image.Image) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, nil) // a buffer cannot fail
	return b.Bytes()
}

// noise is an image that no file format makes small.
func noise(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32()) | byte(i%4/3*255) // opaque
	}
	return img
}

// frames is a GIF file that moves: red, then blue.
func frames(w, h int) []byte {
	var b bytes.Buffer
	var list []*image.Paletted
	for _, c := range []color.Color{color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}} {
		list = append(list, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{c}))
	}
	_ = gif.EncodeAll(&b, &gif.GIF{Image: list, Delay: []int{10, 10}}) // a buffer cannot fail
	return b.Bytes()
}

// claims is a PNG file of a few bytes that says it has w times h pixels.
func claims(w, h int) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), uint32(w))
	head = append(binary.BigEndian.AppendUint32(head, uint32(h)), 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

// fit fits an image and checks that it does.
func fit(t *testing.T, data []byte, l picture.Limits) (picture.Picture, image.Image) {
	t.Helper()
	p, err := picture.Fit(t.Context(), data, l)
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(p.Data)
	info, ok := picture.Check(text)
	if !ok || info != (picture.Info{Type: p.Type, Width: p.Width, Height: p.Height, Bytes: len(p.Data)}) {
		t.Errorf("Check says %+v %v of %s %dx%d", info, ok, p.Type, p.Width, p.Height)
	}
	if max(p.Width, p.Height) > l.Side || len(text) > l.Bytes || img.Bounds().Size() != image.Pt(p.Width, p.Height) {
		t.Errorf("%dx%d, %d bytes of base64", p.Width, p.Height, len(text))
	}
	return p, img
}

func TestFit_leaves_what_fits_as_it_is(t *testing.T) {
	for _, data := range [][]byte{asPNG(noise(30, 20)), asJPEG(noise(30, 20)), file(t, "gopher.webp"), asPNG(image.NewGray16(image.Rect(0, 0, 1568, 1)))} {
		if p, _ := fit(t, data, limits); !bytes.Equal(p.Data, data) {
			t.Errorf("%s was changed", p.Type)
		}
	}
}

func TestFault_H6_images_of_any_size_are_scaled_to_the_limits(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		kind string
		w, h int
	}{
		{"8k", asPNG(image.NewPaletted(image.Rect(0, 0, 8000, 8000), color.Palette{color.Black, color.White})), "image/png", 1568, 1568},
		{"a line", asPNG(image.NewGray(image.Rect(0, 0, 20000, 1))), "image/png", 1568, 1},
		{"tall", asJPEG(image.NewGray(image.Rect(0, 0, 500, 5000))), "image/jpeg", 156, 1568},
		{"a pixel too wide", asPNG(image.NewRGBA64(image.Rect(0, 0, 1569, 1000))), "image/png", 1568, 999},
		{"more bytes than PNG can be", asPNG(noise(1200, 1200)), "image/jpeg", 1200, 1200},
		{"bytes behind the end", append(asPNG(image.NewGray(image.Rect(0, 0, 9, 9))), make([]byte, 6<<20)...), "image/png", 9, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p, _ := fit(t, c.data, limits); p.Type != c.kind || p.Width != c.w || p.Height != c.h {
				t.Errorf("%s of %dx%d", p.Type, p.Width, p.Height)
			}
		})
	}
	if p, _ := fit(t, asPNG(noise(300, 300)), picture.Limits{Side: 1568, Bytes: 20000}); p.Width >= 300 {
		t.Errorf("%dx%d in 20000 bytes", p.Width, p.Height)
	}
	if _, err := picture.Fit(t.Context(), asPNG(noise(90, 90)), picture.Limits{Side: 1568, Bytes: 20}); err == nil {
		t.Error("an image of 20 bytes")
	}
}

func TestFit_keeps_what_is_seen(t *testing.T) {
	near := func(img image.Image, x, y int, want color.NRGBA) {
		t.Helper()
		got := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
		far := func(a, b uint8) bool { return max(a, b)-min(a, b) > 40 }
		if far(got.R, want.R) || far(got.G, want.G) || far(got.B, want.B) || far(got.A, want.A) {
			t.Errorf("at %d,%d: %v, want %v", x, y, got, want)
		}
	}
	red, clear := color.NRGBA{255, 0, 0, 255}, color.NRGBA{}
	p, img := fit(t, frames(20, 10), limits)
	if p.Type != "image/png" {
		t.Errorf("the first frame is %s", p.Type)
	}
	near(img, 5, 5, red)

	half := image.NewNRGBA(image.Rect(0, 0, 2000, 1000)) // its left half is red, the other nothing
	draw.Draw(half, image.Rect(0, 0, 1000, 1000), image.NewUniform(red), image.Point{}, draw.Src)
	_, img = fit(t, asPNG(half), limits)
	near(img, 100, 100, red)
	near(img, 1500, 100, clear)
	draw.Draw(half, image.Rect(0, 0, 1000, 1000), noise(1000, 1000), image.Point{}, draw.Src)
	p, img = fit(t, asPNG(half), picture.Limits{Side: 400, Bytes: 20_000})
	if p.Type != "image/jpeg" {
		t.Errorf("noise is %s", p.Type)
	}
	near(img, img.Bounds().Dx()*3/4, 5, color.NRGBA{255, 255, 255, 255})

	p, img = fit(t, file(t, "cmyk.jpeg"), limits)
	if _, cmyk := img.(*image.CMYK); cmyk || p.Type != "image/jpeg" {
		t.Errorf("a CMYK file became %s of %T", p.Type, img)
	}
}

// exif puts the Exif data of a camera that was turned into a JPEG file.
func exif(order binary.AppendByteOrder, mark string, orientation uint16, file []byte) []byte {
	tiff := order.AppendUint16([]byte(mark), 42)
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2) // entries
	tiff = append(tiff, make([]byte, 12)...)
	tiff = order.AppendUint16(tiff, 0x0112)
	tiff = order.AppendUint16(tiff, 3)
	tiff = order.AppendUint32(tiff, 1)
	tiff = order.AppendUint16(tiff, orientation)
	body := append([]byte("Exif\x00\x00"), append(tiff, 0, 0, 0, 0, 0, 0)...)
	head := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xe1"), uint16(len(body)+2))
	return append(append(head, body...), file[2:]...)
}

func TestFit_puts_photographs_upright(t *testing.T) {
	photo := image.NewRGBA(image.Rect(0, 0, 60, 40)) // its upper left quarter is white
	draw.Draw(photo, image.Rect(0, 0, 30, 20), image.White, image.Point{}, draw.Src)
	for o, corner := range []string{1: "upper left", 2: "upper right", 3: "lower right", 4: "lower left", 5: "upper left", 6: "upper right", 7: "lower right", 8: "lower left", 9: "upper left"} {
		if o == 0 {
			continue
		}
		for mark, order := range map[string]binary.AppendByteOrder{"II": binary.LittleEndian, "MM": binary.BigEndian} {
			data := exif(order, mark, uint16(o), asJPEG(photo))
			p, img := fit(t, data, limits)
			if want := image.Pt(60, 40); o >= 5 && o <= 8 && image.Pt(p.Height, p.Width) != want || (o < 5 || o > 8) && image.Pt(p.Width, p.Height) != want {
				t.Errorf("%d: %dx%d", o, p.Width, p.Height)
			}
			x, y := p.Width/4, p.Height/4
			if strings.Contains(corner, "right") {
				x = p.Width - x
			}
			if strings.Contains(corner, "lower") {
				y = p.Height - y
			}
			if r, _, _, _ := img.At(x, y).RGBA(); r < 0xf000 {
				t.Errorf("%d: the %s is not white", o, corner)
			}
			if same := bytes.Equal(p.Data, data); same != (o == 1 || o == 9) {
				t.Errorf("%d: left as it was: %v", o, same)
			}
		}
	}
}

// drawn is a progressive JPEG file that draws its pixels n times over.
func drawn(w, h uint16, n int) []byte {
	var b bytes.Buffer
	segment := func(kind byte, body ...byte) {
		b.Write([]byte{0xff, kind})
		_ = binary.Write(&b, binary.BigEndian, uint16(len(body)+2)) // a buffer cannot fail
		b.Write(body)
	}
	b.WriteString("\xff\xd8")
	segment(0xdb, bytes.Repeat([]byte{1}, 65)...)
	segment(0xc2, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	segment(0xc4, append([]byte{0x10, 1}, append(make([]byte, 15), 0xe0)...)...) // one code, for 16,384 blocks of nothing
	for range n {
		segment(0xda, 1, 1, 0, 1, 63, 0)
		b.Write(make([]byte, 2*(int(w)*int(h)/64/16384+2)))
	}
	b.WriteString("\xff\xd9")
	return b.Bytes()
}

// A small file that would keep the decoder busy for an hour is refused at once;
// what a camera appends to a picture is no part of it.
func TestFault_H6_images_that_draw_themselves_without_end(t *testing.T) {
	tail := bytes.Repeat([]byte("\xff\xda\x00\x02"), 1000)
	for n, ok := range map[int]bool{10: true, 64: true, 65: false, 50_000: false} {
		_, err := picture.Fit(t.Context(), append(drawn(2000, 2000, n), tail...), limits)
		if (err == nil) != ok || !ok && err.Error() != "it draws its pixels more than 64 times over" {
			t.Errorf("%d passes: %v", n, err)
		}
	}
}

func TestFault_H6_images_that_cannot_be_decoded_are_errors(t *testing.T) {
	whole := asPNG(noise(50, 50))
	twisted := bytes.Clone(whole)
	twisted[len(twisted)/2] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "not a PNG"},
		"text":            {[]byte("hello"), "not a PNG"},
		"a page":          {[]byte("<html>"), "not a PNG"},
		"a head alone":    {whole[:10], "not a PNG"},
		"torn":            {whole[:len(whole)-30], "cannot be decoded"},
		"a torn JPEG":     {asJPEG(noise(50, 50))[:700], "cannot be decoded"},
		"one bit":         {twisted, "cannot be decoded"},
		"a moving WebP":   {[]byte("RIFF\x2a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x08\x00\x00\x08\x00\x00ANIM\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "cannot be decoded"},
		"no pixels":       {claims(0, 5), "not a PNG"},
		"a bomb":          {claims(50_000, 50_000), "50000x50000 pixels are more than can be scaled down here"},
		"a long bomb":     {claims(1<<31-1, 1), "2147483647x1 pixels are more"},
		"a bomb in turns": {append([]byte("\xff\xd8\xff\xc2\x00\x11\x08\x27\x10\x27\x10\x03\x01\x22\x00\x02\x11\x00\x03\x11\x00\xff\xda\x00\x02"), make([]byte, 20)...), "10000x10000 pixels are more"},
		"a bomb of words": {append([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff"), make([]byte, 20)...), "65535x65535 pixels are more"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := picture.Fit(t.Context(), c.data, limits)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
				t.Errorf("%d bytes for an image that is none", used)
			}
		})
	}
}

func TestCheck_tells_torn_images(t *testing.T) {
	for _, data := range [][]byte{asPNG(noise(50, 50)), asJPEG(noise(50, 50)), frames(9, 9), file(t, "gopher.webp")} {
		for _, n := range []int{len(data), len(data) - 1, len(data) / 2, 20, 0} {
			_, ok := picture.Check(base64.StdEncoding.EncodeToString(data[:n]))
			if ok != (n == len(data)) {
				t.Errorf("%s, %d of %d bytes: %v", picture.Type(data), n, len(data), ok)
			}
		}
	}
	twisted := asPNG(noise(50, 50))
	twisted[len(twisted)/2] ^= 1
	for _, text := range []string{"no base64!", "", base64.StdEncoding.EncodeToString(twisted), base64.StdEncoding.EncodeToString(asPNG(noise(9, 9)))[:40] + "\n"} {
		if info, ok := picture.Check(text); ok {
			t.Errorf("%.40q is %+v", text, info)
		}
	}
}

func TestFit_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for range 50 { // it may be free to begin, and then ends well
		if _, err := picture.Fit(ctx, asPNG(noise(9, 9)), limits); err != nil && !errors.Is(err, why) {
			t.Fatal(err)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, data := range [][]byte{asPNG(noise(9, 9)), asJPEG(noise(9, 9)), frames(9, 9), file(f, "gopher.webp"), file(f, "cmyk.jpeg"), claims(70_000, 70_000), exif(binary.LittleEndian, "II", 6, asJPEG(noise(9, 9))), nil} {
		f.Add(data)
	}
	small := picture.Limits{Side: 64, Bytes: 64 << 10}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := picture.Fit(t.Context(), data, small)
		if err != nil {
			return
		}
		if info, ok := picture.Check(base64.StdEncoding.EncodeToString(p.Data)); !ok || info.Type != p.Type || max(p.Width, p.Height) > 64 {
			t.Errorf("%+v %v of %s %dx%d", info, ok, p.Type, p.Width, p.Height)
		}
	})
}
