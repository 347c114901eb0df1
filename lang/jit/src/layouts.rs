//! Layouts of heap objects: the constructors of a unit and their fields.

use crate::heap::VALUE;
use crate::runtime::WordKind;
use adl_interp::ir::op_site;
use adl_interp::value::ConInfo;
use adl_ir::{DataDecl, DataId, Ty};
use std::rc::Rc;

/// The layout of one constructor.
pub(crate) struct ConstructorLayout {
    /// The interpreter's description of it.
    pub con: Rc<ConInfo>,
    /// The kinds of its fields.
    pub fields: Box<[WordKind]>,
    /// The number of words that native code allocates for its fields.
    pub room: u16,
}

impl ConstructorLayout {
    /// The constructor's index within its type.
    pub fn tag(&self) -> u32 {
        self.con.tag
    }
}

/// The layouts of a unit.
#[derive(Default)]
pub(crate) struct Layouts {
    all: Vec<ConstructorLayout>,
    /// By type number: the type's first constructor, and its largest field count in words.
    of: Vec<Option<(u16, u16)>>,
    /// Whether the number of constructors exceeds what a cell's layout field can hold.
    pub full: bool,
}

/// The declared type that a type is or contains.
fn data_in(t: &Ty) -> Option<DataId> {
    match t {
        Ty::Data(d) => Some(*d),
        Ty::Array(e, _) => data_in(e),
        _ => None,
    }
}

impl Layouts {
    /// Adds the declared type in a type, and all types that its fields reach.
    pub fn add(&mut self, datas: &[Rc<DataDecl>], ty: &Ty) {
        let mut todo: Vec<DataId> = data_in(ty).into_iter().collect();
        while let Some(id) = todo.pop() {
            if self.known(id.0).is_some() {
                continue;
            }
            let base = self.all.len();
            let mut most = VALUE;
            let decl = datas.get(id.0 as usize);
            for (tag, (_, fields)) in decl.map_or(&[][..], |d| &d.cons).iter().enumerate() {
                let room = fields.len().max(VALUE);
                most = most.max(room);
                let con = op_site::constructor(decl, tag as u32, fields.len());
                self.all.push(ConstructorLayout {
                    con,
                    fields: fields.iter().map(WordKind::of).collect(),
                    room: room as u16,
                });
                todo.extend(fields.iter().filter_map(data_in));
            }
            self.full |= self.all.len() > usize::from(u16::MAX) || most > usize::from(u16::MAX);
            let at = id.0 as usize;
            if self.of.len() <= at {
                self.of.resize(at + 1, None);
            }
            self.of[at] = Some((base as u16, most as u16));
        }
    }

    /// Whether the unit has no declared types.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.of.is_empty()
    }

    fn known(&self, data: u32) -> Option<(u16, u16)> {
        self.of.get(data as usize).copied().flatten()
    }

    /// The layout number of a constructor.
    pub fn at(&self, data: DataId, tag: u32) -> u16 {
        self.known(data.0).map_or(0, |(base, _)| base.wrapping_add(tag as u16))
    }

    /// The largest room, in words, among the constructors of the same type.
    pub fn most(&self, at: u16) -> u16 {
        let base = self.get(at).map_or(at, |l| at.wrapping_sub(l.tag() as u16));
        self.of.iter().flatten().find(|(b, _)| *b == base).map_or(0, |(_, most)| *most)
    }

    /// A type's first constructor, and the largest room among its constructors.
    #[inline]
    pub fn first(&self, data: u32) -> (u16, u16) {
        self.known(data).unwrap_or((0, VALUE as u16))
    }

    /// A layout by its number.
    #[inline]
    pub fn get(&self, at: u16) -> Option<&ConstructorLayout> {
        self.all.get(usize::from(at))
    }
}
