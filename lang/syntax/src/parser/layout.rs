//! The layout rule: which of the next tokens an open construct sees.
//!
//! Only the first token of a line can be hidden, depending on its column. A construct that meets a hidden token behaves
//! as at the end of the text. The enclosing block or item in whose column the token stands then reads it.
//!
//! A *block* is a list of entries in one column. If its first token begins a line, the block extends to all lines right
//! of its column. If its first token is in the middle of a line, it extends to the lines right of that line's
//! indentation (`base`). Excepted are lines that begin in the block's own column, or in that of a mid-line block
//! directly around it: these are entries.

use crate::token::{Kw, P, Tok, Token};
use std::collections::HashMap;

/// The kinds of open constructs.
#[derive(Clone, Copy, Debug)]
enum FrameKind {
    /// A top-level item.
    Item,
    /// A bracket. Inside it, columns matter only to blocks opened there.
    Bracket {
        /// Column of the block around the bracket: a `let` in that column cannot be inside the bracket.
        outside: Option<u32>,
    },
    /// A block.
    Block(Block),
}

/// The columns of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Column of the entries.
    pub(crate) col: u32,
    /// Indentation of the line that opened it.
    pub(crate) base: u32,
    /// Whether its first token is in the middle of a line.
    pub(crate) mid: bool,
    /// After `let p = e in`: the column of the body.
    pub(crate) in_col: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct LayoutFrame {
    kind: FrameKind,
    /// A `|` that begins a line in this column or further left belongs to an enclosing `match`.
    bar: Option<u32>,
    /// The bracket or line-based block that contains the frame. Entry columns of outer scopes do not matter inside it.
    scope: u32,
    /// The scope that encloses this frame.
    outer_scope: u32,
}

const ITEM: LayoutFrame = LayoutFrame { kind: FrameKind::Item, bar: None, scope: 0, outer_scope: 0 };

/// The open constructs.
#[derive(Debug)]
pub(crate) struct LayoutState {
    /// Column of the top-level items.
    top: u32,
    frames: Vec<LayoutFrame>,
    scopes: u32,
    /// The number of open blocks by scope and entry column.
    entry_columns: HashMap<(u32, u32), u32>,
}

impl LayoutState {
    /// Items begin in the leftmost column of the text, so that a uniformly indented cell parses like a file.
    pub(crate) fn new(tokens: &[Token]) -> LayoutState {
        let starts = tokens.iter().filter(|t| t.line_start && t.tok != Tok::End);
        let top = starts.map(|t| t.col).min().unwrap_or(0);
        LayoutState { top, frames: vec![ITEM], scopes: 0, entry_columns: HashMap::new() }
    }

    fn frame(&self) -> LayoutFrame {
        self.frames.last().copied().unwrap_or(ITEM)
    }

    fn new_scope(&mut self) -> u32 {
        self.scopes += 1;
        self.scopes
    }

    /// Opens a bracket. Frames are closed with [`LayoutState::close`].
    pub(crate) fn open_bracket(&mut self) {
        let outside = match self.frame().kind {
            FrameKind::Item => None,
            FrameKind::Bracket { outside } => outside,
            FrameKind::Block(block) if block.mid => Some(block.base),
            FrameKind::Block(block) => Some(block.col),
        };
        let (scope, outer_scope) = (self.new_scope(), self.frame().scope);
        self.frames.push(LayoutFrame { kind: FrameKind::Bracket { outside }, bar: None, scope, outer_scope });
    }

    /// Opens a block whose first token is `first`; the line that opens it is indented by `base`.
    pub(crate) fn open_block(&mut self, first: &Token, base: u32) {
        let block = Block { col: first.col, base, mid: !first.line_start, in_col: None };
        let around = self.frame();
        let frame = match block.mid {
            true => LayoutFrame { kind: FrameKind::Block(block), ..around },
            false => LayoutFrame {
                kind: FrameKind::Block(block),
                bar: around.bar,
                scope: self.new_scope(),
                outer_scope: around.scope,
            },
        };
        *self.entry_columns.entry((frame.scope, block.col)).or_insert(0) += 1;
        self.frames.push(frame);
    }

    /// Closes the innermost construct.
    pub(crate) fn close(&mut self) {
        if let Some(LayoutFrame { kind: FrameKind::Block(block), scope, .. }) = self.frames.pop()
            && let Some(count) = self.entry_columns.get_mut(&(scope, block.col))
        {
            *count -= 1;
        }
    }

    /// Declares that `|` in column `col` belongs to the current match. Returns the previous state for
    /// [`LayoutState::restore_bar`].
    pub(crate) fn set_bar(&mut self, col: Option<u32>) -> Option<u32> {
        let frame = self.frames.last_mut()?;
        let former = frame.bar;
        frame.bar = col.or(former);
        former
    }

    /// Undoes [`LayoutState::set_bar`].
    pub(crate) fn restore_bar(&mut self, former: Option<u32>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.bar = former;
        }
    }

    /// The innermost construct, if it is a block.
    pub(crate) fn block(&self) -> Option<Block> {
        match self.frame().kind {
            FrameKind::Block(block) => Some(block),
            FrameKind::Item | FrameKind::Bracket { .. } => None,
        }
    }

    /// Sets the column of the body of `let ... in` in the innermost block.
    pub(crate) fn set_in_column(&mut self, col: Option<u32>) {
        if let Some(LayoutFrame { kind: FrameKind::Block(block), .. }) = self.frames.last_mut() {
            block.in_col = col;
        }
    }

    /// The base column of the block that a `let` operand opens. Inside brackets, columns further left are included.
    pub(crate) fn base_for_operand(&self, token: &Token) -> u32 {
        match self.frame().kind {
            FrameKind::Bracket { .. } => self.top,
            FrameKind::Item | FrameKind::Block(_) => token.indent,
        }
    }

    /// Whether `token` begins a new top-level item.
    pub(crate) fn begins_item(&self, token: &Token, next: &Token) -> bool {
        token.line_start && token.col <= self.top && !continues(token, next, true)
    }

    /// Whether `token` begins a new entry of the innermost block.
    pub(crate) fn begins_entry(&self, token: &Token, next: &Token) -> bool {
        let Some(block) = self.block() else { return false };
        token.line_start
            && (token.col == block.col || Some(token.col) == block.in_col)
            && token.tok != Tok::End
            && token.tok != Tok::P(P::SemiSemi)
            && !continues(token, next, false)
    }

    /// Whether `token` is inside the innermost block but in a column without a meaning.
    pub(crate) fn misindented(&self, token: &Token, next: &Token) -> bool {
        let Some(block) = self.block() else { return false };
        token.line_start
            && !block.mid
            && block.base < token.col
            && token.col < block.col
            && !self.in_entry_column(self.frame().outer_scope, token.col)
            && !matches!(token.tok, Tok::End | Tok::P(P::SemiSemi) | Tok::Kw(Kw::For | Kw::While))
            && !continues(token, next, false)
    }

    /// Whether the line that begins with `token` is outside the innermost block.
    pub(crate) fn leaves_block(&self, token: &Token) -> bool {
        let Some(block) = self.block() else { return false };
        let left = if block.mid { token.col <= block.base } else { token.col < block.col };
        let elsewhere = block.mid && token.col != block.col && self.in_entry_column(self.frame().scope, token.col);
        token.line_start && (left || elsewhere)
    }

    fn in_entry_column(&self, scope: u32, col: u32) -> bool {
        self.entry_columns.get(&(scope, col)).is_some_and(|n| *n > 0)
    }

    /// Whether `token`, followed by `next`, is hidden from the innermost construct.
    pub(crate) fn hides(&self, token: &Token, next: &Token) -> bool {
        if matches!(token.tok, Tok::End | Tok::P(P::SemiSemi)) {
            return true;
        }
        if !token.line_start {
            return false;
        }
        let frame = self.frame();
        if token.tok == Tok::P(P::Bar) && frame.bar.is_some_and(|col| token.col <= col) {
            return true;
        }
        match frame.kind {
            FrameKind::Item => self.begins_item(token, next),
            FrameKind::Bracket { outside } => {
                let begins_entry = token.tok == Tok::Kw(Kw::Let) && outside.is_some_and(|col| token.col <= col);
                begins_entry || self.begins_item(token, next)
            }
            FrameKind::Block(block) if block.mid => self.hidden_in_mid_line_block(block, token, next),
            FrameKind::Block(block) => hidden_in_block(block, token, next),
        }
    }

    fn hidden_in_mid_line_block(&self, block: Block, token: &Token, next: &Token) -> bool {
        let entry = self.in_entry_column(self.frame().scope, token.col) || Some(token.col) == block.in_col;
        let continues = continues(token, next, token.col <= self.top && !entry);
        if continues { token.col < block.base } else { token.col <= block.base || entry }
    }
}

fn hidden_in_block(block: Block, token: &Token, next: &Token) -> bool {
    if Some(token.col) == block.in_col {
        return !continues(token, next, false);
    }
    if token.col > block.col {
        return false;
    }
    if token.col == block.col {
        return !continues(token, next, false);
    }
    // Further left than the block, an operator may still continue it.
    !(token.col > block.base && is_operator(token.tok))
}

/// Whether a line that begins with `token` in the entries' column continues the entry above. A minus does so only at
/// top level (`at_top`) and with a space after it. Elsewhere it begins a new entry as a sign.
fn continues(token: &Token, next: &Token, at_top: bool) -> bool {
    match token.tok {
        Tok::P(P::Minus) => at_top && next.space_before && !next.line_start,
        Tok::P(p) => !p.opens() && p != P::Backslash && p != P::Bang && p != P::SemiSemi,
        Tok::Kw(kw) => {
            matches!(kw, Kw::In | Kw::Then | Kw::Else | Kw::With | Kw::And | Kw::Do | Kw::When | Kw::As)
        }
        Tok::FOpen | Tok::FClose | Tok::FEnd | Tok::FText(_) => true,
        Tok::Ident(_) | Tok::Con(_) | Tok::Int(_) | Tok::Float(_) | Tok::F32(_) | Tok::Str(_) => false,
        Tok::FStart | Tok::Underscore | Tok::End => false,
    }
}

fn is_operator(tok: Tok) -> bool {
    tok == Tok::P(P::Minus) || super::expressions::binary(tok).is_some()
}
