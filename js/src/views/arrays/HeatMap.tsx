/** A slice as a picture. It reads out the element under the pointer or selected by arrow keys. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { arrowMove } from "../../kit/arrows";
import { useSize } from "../../kit/size";
import { type Picture, paint, type Scale } from "./colours";

/** The smallest size in pixels; the picture of a vector would otherwise be too thin to see. */
const LOWEST = 26;
const NARROWEST = 40;

export interface Cell {
  row: number;
  column: number;
}

interface Props {
  slice: Picture;
  scale: Scale;
  label: string;
  onRead: (cell: Cell | null) => void;
}

export function HeatMap({ slice, scale, label, onRead }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const [cell, setCell] = useState<Cell | null>(null);
  const { rows, columns } = slice;
  const size = useSize(room);
  const scaling = Math.min(size.width / columns, size.height / rows);

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || rows * columns === 0) return;
    const image = context.createImageData(columns, rows);
    paint(slice, scale, image.data);
    context.putImageData(image, 0, 0);
  }, [slice, scale]);

  const read = (next: Cell | null) => {
    setCell(next);
    onRead(next);
  };
  const onPointer = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return;
    const at = (share: number, count: number) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    read({
      row: at((event.clientY - box.top) / box.height, rows),
      column: at((event.clientX - box.left) / box.width, columns),
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = arrowMove(event);
    if (!move) return;
    const { row, column } = cell ?? { row: 0, column: -1 };
    read({ row: (row + move[0] + rows) % rows, column: (column + move[1] + columns) % columns });
  };
  return (
    <div class="heat-room" ref={room} style={{ aspectRatio: `${columns} / ${rows}` }}>
      <canvas
        ref={canvas}
        class="heat-map"
        data-testid="heat-map"
        width={columns}
        height={rows}
        style={{
          width: `${Math.max(columns * scaling, NARROWEST)}px`,
          height: `${Math.max(rows * scaling, LOWEST)}px`,
        }}
        tabIndex={0}
        role="img"
        aria-label={label}
        onPointerMove={onPointer}
        onPointerLeave={() => read(null)}
        onKeyDown={onKeyDown}
        onBlur={() => read(null)}
      />
    </div>
  );
}
