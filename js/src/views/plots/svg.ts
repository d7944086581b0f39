/** A drawing context that writes SVG, so that `paint.ts` can draw on a canvas and into a file. */
import type { Pen } from "./paint";

const ANCHORS: Readonly<Record<string, string>> = { right: "end", center: "middle" };

/** About the width of a character, in pixels. */
const CHARACTER = 6;

export class SvgPen implements Pen {
  fillStyle = "";
  strokeStyle = "";
  font = "";
  globalAlpha = 1;
  lineJoin = "round" as const;
  lineWidth = 1;
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private path = "";
  private dashes = "";
  private body = "";

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {}

  /** Returns the content of the SVG file. */
  text(): string {
    const { width, height } = this;
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.body}</svg>`;
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path ? "L" : "M"}${short(x)} ${short(y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  fill(): void {
    this.body += `<path d="${this.path}" ${ink("fill", this.fillStyle)} opacity="${this.globalAlpha}"/>`;
  }

  setLineDash(dashes: number[]): void {
    this.dashes = dashes.length > 0 ? ` stroke-dasharray="${dashes.join(" ")}"` : "";
  }

  stroke(): void {
    const width = `stroke-width="${this.lineWidth}" stroke-linejoin="round"${this.dashes}`;
    const line = `${ink("stroke", this.strokeStyle)} ${width}`;
    this.body += `<path d="${this.path}" fill="none" ${line} opacity="${this.globalAlpha}"/>`;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }

  /** Text that is wider than `most` pixels is narrowed. */
  fillText(text: string, x: number, y: number, most = Number.POSITIVE_INFINITY): void {
    const down = this.textBaseline === "top" ? "0.9em" : "0.35em";
    const anchor = ANCHORS[this.textAlign] ?? "start";
    const at = `x="${short(x)}" y="${short(y)}" dy="${down}" text-anchor="${anchor}"`;
    const font = `style="font:${this.font.replaceAll('"', "'")}"`;
    const narrowed =
      CHARACTER * text.length > most ? ` textLength="${short(most)}" lengthAdjust="spacingAndGlyphs"` : "";
    this.body += `<text ${at}${narrowed} ${font} ${ink("fill", this.fillStyle)}>${escaped(text)}</text>`;
  }

  save(): void {
    this.body += "<g>";
  }

  clip(): void {
    this.body += `<clipPath id="c"><path d="${this.path}"/></clipPath><g clip-path="url(#c)">`;
  }

  /** Closes the groups of `save` and `clip`, which `paint.ts` always calls together. */
  restore(): void {
    this.body += "</g></g>";
  }
}

/**
 * Returns a colour as SVG attributes. Browsers compute mixed colours as `color(srgb …)`, which other programs do not
 * read.
 */
function ink(property: string, colour: string): string {
  const [, ...parts] = /^color\(srgb (\S+) (\S+) (\S+?)(?: \/ (\S+))?\)$/.exec(colour) ?? [];
  if (parts.length === 0) return `${property}="${colour}"`;
  const rgb = parts.slice(0, 3).map((part) => Math.round(255 * Number(part)));
  return `${property}="rgb(${rgb})" ${property}-opacity="${parts[3] ?? 1}"`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function short(n: number): string {
  return String(Math.round(n * 100) / 100);
}
