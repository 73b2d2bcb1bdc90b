// A menu, and a button that opens it. Arrow keys move in it, letters find an item, Escape and Tab close it, and the
// focus returns.
import { type ComponentChildren, createContext } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { hasModifier } from "./keys.ts";

/** The space between the menu and its button or the edge of the window, in pixels. */
const GAP = 8;

export function Menu(props: {
  /** Names the button and the menu. */
  label: string;
  /** The button's content in place of three dots; the button then has another class. */
  button?: ComponentChildren;
  class?: string;
  /** Shown above the items, outside the menu: it may not contain controls. */
  head?: ComponentChildren;
  /** Whether the button is in a list, and must ignore the list's arrow keys. */
  isInList?: boolean;
  /** Whether Tab reaches the button. */
  isReachable?: boolean;
  children: ComponentChildren;
}) {
  const { label, isInList = false, isReachable = true } = props;
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={props.class ?? "icon-button"}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        title={label}
        tabIndex={isReachable ? 0 : -1}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || isInList || hasModifier(event)) return;
          event.preventDefault();
          event.stopPropagation();
          setOpen(true);
        }}
      >
        {props.button ?? <Icon name="more" />}
        <span class="visually-hidden">{label}</span>
      </button>
      {isOpen && (
        <MenuItems
          label={label}
          head={props.head}
          button={button.current!}
          anchor={toAnchor(button.current!)}
          onClose={close}
          onLeave={() => setOpen(false)}
        >
          {props.children}
        </MenuItems>
      )}
    </>
  );
}

/** Where a menu opens, in pixels of the window: above or below this, from its left or up to its right. */
export interface Anchor {
  top: number;
  bottom: number;
  left?: number;
  right?: number;
}

function toAnchor(button: HTMLElement): Anchor {
  const { top, bottom, right } = button.getBoundingClientRect();
  return { top, bottom, right };
}

export function MenuItems(props: {
  label: string;
  head?: ComponentChildren;
  anchor: Anchor;
  /** The button that closes it, too. */
  button?: HTMLElement;
  /** Closes the menu and returns the focus. */
  onClose: () => void;
  /** Closes the menu without moving the focus. */
  onLeave: () => void;
  children: ComponentChildren;
}) {
  const { onClose, onLeave } = props;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    // In the top layer nothing covers it, not even a dialog.
    element.showPopover();
    place(element, props.anchor);
    listItems(element)[0]?.focus();
    const leave = ({ target }: Event) => {
      if (!element.contains(target as Node) && !props.button?.contains(target as Node)) onLeave();
    };
    addEventListener("pointerdown", leave, true);
    addEventListener("resize", onLeave);
    return () => {
      removeEventListener("pointerdown", leave, true);
      removeEventListener("resize", onLeave);
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    // Keys must not reach what surrounds the menu.
    event.stopPropagation();
    if (hasModifier(event)) return;
    // The browser then continues from the button.
    if (event.key === "Tab") return onClose();
    if (event.key === "Escape") onClose();
    else if (!moveIn(box.current!, event.key)) return;
    event.preventDefault();
  };
  return (
    <div ref={box} class="menu" popover="manual">
      {props.head}
      <div
        role="menu"
        aria-label={props.label}
        onKeyDown={onKeyDown}
        onContextMenu={(event) => event.preventDefault()}
      >
        <CloseContext.Provider value={onClose}>{props.children}</CloseContext.Provider>
      </div>
    </div>
  );
}

/** Closes the surrounding menu. */
export const CloseContext = createContext(() => {});

function listItems(box: HTMLElement): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>("[role^=menuitem]")];
}

/** Moves the focus to the item that a key selects. Returns false for other keys. */
function moveIn(box: HTMLElement, key: string): boolean {
  const items = listItems(box);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const steps: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: -1,
  };
  const to = steps[key];
  if (to !== undefined) {
    items.at(to % items.length)?.focus();
    return true;
  }
  if (!/^\S$/u.test(key)) return false;
  const startsWithKey = ({ textContent }: HTMLElement) =>
    textContent.trim().toLowerCase().startsWith(key.toLowerCase());
  [...items.slice(at + 1), ...items.slice(0, at + 1)].find(startsWithKey)?.focus();
  return true;
}

/** Places the menu below its anchor, or above it if there is no room. */
function place(box: HTMLElement, { top, bottom, left, right = 0 }: Anchor): void {
  const { offsetWidth, offsetHeight } = box;
  const below = bottom + GAP / 2;
  const isBelow = below + offsetHeight + GAP <= innerHeight;
  const from = Math.min(left ?? right - offsetWidth, innerWidth - offsetWidth - GAP);
  box.style.left = `${Math.max(GAP, from)}px`;
  box.style.top = `${isBelow ? below : Math.max(GAP, top - offsetHeight - GAP / 2)}px`;
}

/** An item that closes the menu. */
export function MenuItem(props: {
  icon: IconName;
  onSelect: () => void;
  danger?: boolean;
  children: ComponentChildren;
}) {
  const close = useContext(CloseContext);
  return (
    <button
      type="button"
      role="menuitem"
      class={props.danger ? "menu-item danger" : "menu-item"}
      tabIndex={-1}
      onClick={() => {
        // First close, so that a dialog later returns the focus to the menu's button.
        close();
        props.onSelect();
      }}
    >
      <Icon name={props.icon} />
      <span class="menu-label">{props.children}</span>
    </button>
  );
}

export function MenuLink(props: {
  icon: IconName;
  href: string;
  /** Whether it leaves the console. */
  isOutside?: boolean;
  children: ComponentChildren;
}) {
  return (
    <a
      role="menuitem"
      class="menu-item"
      tabIndex={-1}
      href={props.href}
      onClick={useContext(CloseContext)}
      {...(props.isOutside && { target: "_blank", rel: "noreferrer" })}
    >
      <Icon name={props.icon} />
      <span class="menu-label">{props.children}</span>
    </a>
  );
}

/** An item that is on or off. The menu stays open. */
export function MenuSwitch(props: {
  icon: IconName;
  isOn: boolean;
  onSelect: () => void;
  children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      role="menuitemcheckbox"
      class="menu-item"
      aria-checked={props.isOn}
      tabIndex={-1}
      onClick={props.onSelect}
    >
      <Icon name={props.icon} />
      <span class="menu-label">{props.children}</span>
      <span class="switch" />
    </button>
  );
}

/** A row of options in a menu, one of which is selected. The menu stays open. */
export function MenuChoice<Value extends string>(props: {
  legend: string;
  chosen: Value;
  choices: readonly (readonly [Value, string])[];
  onChoose: (value: Value) => void;
}) {
  return (
    <div role="group" aria-label={props.legend}>
      <div class="menu-title" aria-hidden="true">
        {props.legend}
      </div>
      <div class="menu-choice" role="presentation">
        {props.choices.map(([value, label]) => (
          <button
            key={value}
            type="button"
            role="menuitemradio"
            class="menu-item"
            aria-checked={value === props.chosen}
            tabIndex={-1}
            onClick={() => props.onChoose(value)}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}
