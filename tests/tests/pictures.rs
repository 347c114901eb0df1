//! Sessions whose host draws pictures as the programs do.

use adl_interp::host::Format;
use adl_interp::value::Value;
use adl_plotting::{Theme, picture};
use adl_session::Session;
use adl_tests::{Memory, session_on};
use std::cell::RefCell;
use std::rc::Rc;

/// A host in memory that draws pictures.
pub fn host() -> Memory {
    Memory { draw, ..Memory::default() }
}

/// Like [`adl_tests::session`], with pictures.
pub fn session() -> (Session, Rc<RefCell<String>>) {
    adl_ir::verify::always();
    session_on(host())
}

fn draw(value: &Value, format: Format) -> Result<Vec<u8>, String> {
    let figure = picture(value).ok_or("this value has no picture")?;
    Ok(match format {
        Format::Svg => figure.svg(Theme::Light).into_bytes(),
        Format::Png => figure.png(Theme::Light, 1.0),
        Format::Text => figure.text(60, 16, false).into_bytes(),
    })
}
