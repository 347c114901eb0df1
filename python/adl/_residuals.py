"""`%adl_residuals f x`: what the gradient of `f` stores, as a table with switches (needs ipywidgets) or without.

Front ends without widgets show the table as HTML or text.
"""

import base64
import html

from . import _adl

COLUMNS = ["line", "expression", "shape", "bytes", "work", "decision", "reason"]
NUMBERS = {"line", "bytes", "work"}
PLANS = ["store_all", "recompute_all", "auto", "sqrt", "revolve 32", "revolve 8"]
# Of longer tables the largest rows are shown.
ROWS = 40


def size(count):
    """A number of bytes."""
    for unit in ["B", "KB", "MB"]:
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
        count /= 1000
    return f"{count:.3g} GB"


def largest(rows):
    """The rows that are shown, in order."""
    if len(rows) <= ROWS:
        return rows
    return sorted(sorted(rows, key=lambda r: -r.bytes)[:ROWS], key=lambda r: r.id)


class Residuals:
    """What the gradient of a function stores at some arguments, under a plan that can be changed.

    `store` and `recompute` change single rows, `plan` all of them; `apply` makes the plan that of all gradients that are then
    taken of the function, and measures it. `rows` are the rows of the table.
    """

    def __init__(self, f, *args):
        self.function = f
        self._value = f.residuals(*args)
        self._record = _adl.residuals_record(self._value)
        self._steps = _adl.residuals_steps(self._value)
        self._note = ""
        self._views = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._record[name]

    @property
    def rows(self):
        return self._record["rows"]

    @property
    def plan_name(self):
        return self._record["plan"]

    def _become(self, plan, apply=False):
        self._value = _adl.residuals_under(self._value, plan, apply)
        self._record = _adl.residuals_record(self._value)
        for view in self._views:
            view.redraw()
        return self

    def store(self, *rows):
        """Stores rows, given by their ids."""
        return self._become(_adl.residuals_refined(self._value, list(rows), []))

    def recompute(self, *rows):
        """Recomputes rows, given by their ids."""
        return self._become(_adl.residuals_refined(self._value, [], list(rows)))

    def plan(self, plan):
        """Changes all rows to what a plan says."""
        return self._become(plan)

    def apply(self):
        """Makes the plan that of gradients that are taken of the function from now on."""
        plan = self.plan_name
        self.function.apply_plan(plan)
        self._note = f"applied: gradients of {self.function.__name__} follow {plan} from now on"
        return self._become(plan, apply=True)

    def __repr__(self):
        return repr(self._value)

    def summary(self):
        """A line about the plan's memory and work, as HTML."""
        r = self._record
        extra = 100 * r["again"] / max(r["work"], 1)
        note = f"<div>{html.escape(self._note)}</div>" if self._note else ""
        return (
            f"<div><b>{html.escape(self.function.__name__)}</b> under <b>{html.escape(self.plan_name)}</b>: "
            f"{size(r['bytes'])} stored, peak {size(r['peak'])}, extra work {extra:.0f} %{note}</div>"
        )

    def picture(self):
        """Memory and extra work of plans, as an image in HTML."""
        svg = _adl.residuals_picture(self._value, self._steps)
        if svg is None:
            return ""
        data = base64.b64encode(svg.encode()).decode()
        return f'<img alt="memory and extra work of plans" src="data:image/svg+xml;base64,{data}">'

    def _repr_html_(self):
        def cell(column, text, tag="td"):
            side = "right" if column in NUMBERS else "left"
            return f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag}>'

        head = "".join(cell(c, c, "th") for c in COLUMNS)
        body = "".join(f"<tr>{''.join(cell(*c) for c in cells(r))}</tr>" for r in largest(self.rows))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="adl">{self.summary()}{table}{self.picture()}</div>'

    def widget(self):
        """The table with switches."""
        view = View(self)
        self._views.append(view)
        return view.whole

    def _ipython_display_(self):
        from IPython.display import display

        try:
            display(self.widget())
        except ImportError:
            display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)


def cells(row):
    """The columns of a row, with their texts."""
    texts = {"line": str(row.line or ""), "bytes": size(row.bytes), "work": str(row.work)}
    return [(c, texts.get(c, str(row[c]))) for c in COLUMNS]


class View:
    """The widgets of a table: a switch for each row, a budget, plans, and *Apply*."""

    def __init__(self, of):
        import ipywidgets

        self.of, self.busy = of, False
        self.summary, self.picture = ipywidgets.HTML(), ipywidgets.HTML()
        wide = ipywidgets.Layout(width="5em")
        self.rows = [(r.id, ipywidgets.Checkbox(indent=False, layout=wide), ipywidgets.HTML()) for r in largest(of.rows)]
        for row, switch, _ in self.rows:
            switch.observe(lambda change, row=row: self.act(of.store if change.new else of.recompute, row), "value")
        stops = {f"{size(peak)} peak": f"budget {peak}" for peak, _ in of._steps}
        self.budget = ipywidgets.SelectionSlider(
            options=list(stops.items()) or [("-", of.plan_name)], description="budget", continuous_update=False
        )
        self.budget.observe(lambda change: self.act(of.plan, change.new), "value")
        self.plans = ipywidgets.Dropdown(options=[*PLANS, "by hand or budget"], description="plan")
        self.plans.observe(lambda change: change.new in PLANS and self.act(of.plan, change.new), "value")
        self.button = ipywidgets.Button(description="Apply", button_style="primary")
        self.button.on_click(lambda _: self.act(of.apply))
        lines = [ipywidgets.HBox([switch, words]) for _, switch, words in self.rows]
        acting = ipywidgets.HBox([self.budget, self.plans, self.button])
        self.whole = ipywidgets.VBox([self.summary, *lines, acting, self.picture])
        self.redraw()

    def act(self, change, *args):
        # Widgets also tell of changes that `redraw` makes.
        if self.busy:
            return
        self.of._note = ""
        try:
            change(*args)
        except Exception as e:
            self.of._note = str(e)
            self.redraw()

    def redraw(self):
        self.busy = True
        try:
            self.summary.value, self.picture.value = self.of.summary(), self.of.picture()
            rows = {r.id: r for r in self.of.rows}
            for row, switch, words in self.rows:
                if row in rows:
                    switch.value, switch.disabled = rows[row].decision == "store", not rows[row].movable
                    words.value = " &nbsp; ".join(html.escape(text) for _, text in cells(rows[row]) if text)
            self.plans.value = self.of.plan_name if self.of.plan_name in PLANS else "by hand or budget"
        finally:
            self.busy = False


def words(text):
    """The expressions of a line, between spaces outside brackets and quotes."""
    out, depth, quote = [""], 0, None
    for c in text.strip():
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "([{") - (c in ")]}")
        if c == " " and depth == 0 and not quote:
            out.append("")
        else:
            out[-1] += c
    return [w for w in out if w]
